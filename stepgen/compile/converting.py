"""A stream in another order, by the converter that costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from math import gcd, prod
from typing import Any

from ..ir.arguments import checked
from ..ir.buffer_reading import strides
from ..ir.converter import Nest, converter, share, walks
from ..ir.errors import StepError
from ..ir.fn import fn
from ..ir.itensor import Itensor, as_itensor
from ..ir.offchip import layout_of
from ..ir.ops.linear_offchip_load import LinearOffchipLoad, linear_offchip_load
from ..ir.ordering import order_of
from ..ir.stream import Stream
from ..ir.tile_order import Unknown
from ..ir.where import user_line


@dataclass(frozen=True)
class Way:
    """One way to bring a stream in another order.

    Attributes
    ----------
    name : str
        ``as it is``, ``new tiles``, ``buffer`` or ``read again``.
    bits : int
        Of on-chip memory: what is buffered, without the stop of each beat.
    bytes : int
        That are read from off-chip memory in addition.
    why : str
        What it does, in words.
    make : callable
        Adds its operators and returns the stream.
    """

    name: str
    bits: int
    bytes: int
    why: str
    make: Callable[[], Stream]


@checked
def convert_order(
    x: Stream, itensor: Itensor | str, *, of: Itensor | str | None = None, budget: int | None = None
) -> Stream:
    """A stream in another order, by the converter that costs least.

    A stream that comes in this order stays as it is. Tiles are joined and cut where that is enough;
    else the smallest part of the tensor that both orders bring at a time is buffered. Where a load
    is read by others too, the tensor may be read again instead. Ways that read nothing in addition
    go first, then those with the least memory.

    Parameters
    ----------
    x : Stream
        Tiles; all of its dims are static.
    itensor : Itensor or str
        The order that is wanted, of the same tensor.
    of : Itensor or str, optional
        The order of `x`, by default what `Stream.itensor` says.
    budget : int, optional
        Most bits of on-chip memory.

    Returns
    -------
    Stream
        With a dim for each loop of the type.

    Raises
    ------
    StepError
        If the orders are of different tensors, tiles overlap, or no way fits into the budget; both
        types are printed.

    Notes
    -----
    Converter (StreamTensor, section 4); `ways` lists them.

    Examples
    --------
    >>> g = sg.Graph()
    >>> w = g.tensor("w", (8, 8), "f32")
    >>> x = sg.linear_offchip_load(w, tile=(4, 2), shape=(2, 4), stride=(4, 1))
    >>> rows = "itensor<2x8xf32, iter_space [4]*[2], iter_map (d0) -> (d0, 0)>"
    >>> sg.convert_order(x, rows)
    <accum_1.0 Stream[f32 2x8; 4]>
    """
    found = ways(x, itensor, of=of)
    fitting = [way for way in found if budget is None or way.bits <= budget]
    if not fitting:
        least = min(found, key=lambda way: way.bits)
        raise StepError(
            f"convert_order at {user_line()}: {x.name} comes as {of or x.itensor}, and "
            f"as {itensor} it takes at least {least.bits} bits on chip, more than the {budget} of "
            f"the budget"
        )
    return min(fitting, key=lambda way: (way.bytes, way.bits)).make()


@checked
def ways(x: Stream, itensor: Itensor | str, *, of: Itensor | str | None = None) -> list[Way]:
    """All ways to bring a stream in another order; parameters are those of `convert_order`.

    Returns
    -------
    list of Way

    Raises
    ------
    StepError
        If the orders are of different tensors, or tiles overlap.
    """
    target = as_itensor(itensor)
    source = x.itensor if of is None else as_itensor(of)
    if source == target:
        return [Way("as it is", 0, 0, "a FIFO joins equal types", lambda: x)]
    if source.is_static and source.tokens != prod(_static(x)):
        raise StepError(
            f"convert_order at {user_line()}: {x.name} has {prod(_static(x))} tiles and not the "
            f"{source.tokens} of {source}"
        )
    converter(source, target)  # with its checks
    found = [_converted(x, source, target)]
    if (again := _read_again(x, source, target, of)) is not None:
        found.append(again)
    return found


def _static(x: Stream) -> list[int]:
    found = [dim.static for dim in x.shape]
    if None in found:
        raise StepError(
            f"convert_order at {user_line()}: the dims of {x.name}, {x}, must be static: its "
            f"buffers and tiles are cut by number"
        )
    return [n for n in found if n is not None]


def _converted(x: Stream, source: Itensor, target: Itensor) -> Way:
    """By a buffer of the smallest tiles of both, or without one."""
    piece = [gcd(a, b) for a, b in zip(source.tile, target.tile, strict=True)]
    steps = _steps(source, target, piece)
    words = "" if source.tile == target.tile else f"tiles of {_say(piece)}, "
    bits = _moved(source, piece[-1]) + _moved(target, piece[-1])
    if not steps:
        why = f"{words}which come in this order"
        return Way("new tiles", bits, 0, why, lambda: _join(_cut(x, source, piece), target, piece))
    passes = []
    for nest in steps:
        chunk = prod(int(n) for n, _ in nest.source)
        around = prod(int(n) for n, _ in nest.shared)
        bits += (1 + (around > 1)) * chunk * prod(piece) * source.element.bits
        passes.append(f"{chunk} tiles of {_say(piece)} at a time")

    def make() -> Stream:
        made = _cut(x, source, piece)
        for nest in steps:
            made = _buffered(made, nest)
        return _join(made, target, piece)

    return Way("buffer", bits, 0, f"{words}buffers {' and then '.join(passes)}", make)


def _steps(source: Itensor, target: Itensor, piece: Sequence[int]) -> list[Nest]:
    """The buffers, one behind the other, through which pieces of tiles go.

    One is enough where its readings are affine; else the first brings rows or columns of pieces.
    """
    cut, joined = _by(source, piece), _by(target, piece)
    if cut == joined:
        return []
    nest = share(walks(cut), walks(joined))
    with suppress(Unknown):
        strides(nest.source, nest.target)
        return [nest]
    between = []
    for dims in permutations(range(len(piece))):
        loops = [(cut.shape[d] // piece[d], piece[d]) for d in dims]
        order = Itensor(piece, cut.element, loops, [(dims.index(d),) for d in range(len(dims))])
        with suppress(Unknown):
            both = [share(walks(a), walks(b)) for a, b in ((cut, order), (order.canonical, joined))]
            for one in both:
                strides(one.source, one.target)
            between.append(both)
    return min(between, key=lambda both: sum(prod(int(n) for n, _ in b.source) for b in both))


def _say(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _by(order: Itensor, piece: Sequence[int]) -> Itensor:
    """The order of the pieces of its tiles, row by row."""
    return order.vectorized(piece).canonical


def _moved(order: Itensor, cols: int) -> int:
    """Bits of the memories that cut or join columns of tiles; rows are joined by their stops."""
    return 0 if order.tile[-1] == cols else 2 * prod(order.tile) * order.element.bits


def _cut(x: Stream, order: Itensor, piece: Sequence[int]) -> Stream:
    """The stream in pieces of its tiles, row by row, in one dim."""
    (high, wide), (rows, cols) = order.tile[-2:], piece[-2:]
    x = _in_dims(x, [order.tokens])
    if rows < high:
        x = x.flat_map(fn.retile_streamify("row"), rank=0)
        if rows > 1:
            x = _in_dims(x, [order.tokens * high // rows, rows]).accum(fn.retile_row(), rank=1)
    if cols < wide:
        x = x.flat_map(fn.cut_cols(cols), rank=0)
    return x


def _join(x: Stream, order: Itensor, piece: Sequence[int]) -> Stream:
    """Pieces that come tile by tile as the tiles, with a dim for each loop."""
    down, across = (e // p for e, p in zip(order.tile[-2:], piece[-2:], strict=True))
    if across > 1:
        x = _in_dims(x, [order.tokens * down, across]).accum(fn.retile_col(), rank=1)
    if down > 1:
        x = _in_dims(x, [order.tokens, down]).accum(fn.retile_row(), rank=1)
    return _in_dims(x, order.trips or (1,))


def _buffered(x: Stream, nest: Nest) -> Stream:
    """Chunks that are stored, and read in the order that is wanted."""
    outer = [int(n) for n, _ in nest.shared]
    x = _in_dims(x, [*(outer or [1]), prod(int(n) for n, _ in nest.source)])
    loops = [(n, s) for n, s in strides(nest.source, nest.target) if n > 1] or [(1, 0)]
    shape, stride = zip(*loops, strict=True)
    return x.bufferize(rank=1).streamify(shape=shape, stride=stride)


def _in_dims(x: Stream, dims: Sequence[int]) -> Stream:
    """The same tiles in other static dims."""
    if [d.static for d in x.shape] == [*dims]:
        return x
    if x.rank:
        x = x.flatten(0, x.rank)
    for level, extent in enumerate(reversed(dims[1:])):
        made: Any = x.reshape(dim=level, chunk=extent)
        x = made[0] if isinstance(made, tuple) else made
    return x


def _read_again(
    x: Stream, source: Itensor, target: Itensor, of: Itensor | str | None
) -> Way | None:
    """By another load of the same tensor, if the first one has other readers."""
    node, graph = x.node, x.graph
    whole = isinstance(node.face, LinearOffchipLoad) and not node.inputs and of is None
    if not whole or not graph.consumers(x):
        return None
    tensor = graph.tensors[node.attrs["tensor"]]
    rows, cols = target.tile
    wide = cols == tensor.shape[1] and layout_of(node) is None
    fits = all(step % target.tile[d] == 0 for n, s in walks(target) for d, step in enumerate(s))
    if order_of(x).of != tensor.name or target.shape != tensor.shape or not fits:
        return None
    if not wide and layout_of(node) != (rows, cols):
        return None
    size = target.tokens * rows * cols * tensor.element.bytes // tensor.element.packed
    why = f"{tensor.name} is read once more, {size} bytes"
    return Way("read again", 0, size, why, lambda: linear_offchip_load(tensor, itensor=target))
