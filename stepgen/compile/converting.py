"""A stream in another order, by the converter that costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations
from math import gcd, prod

from stepgen.compile.regrouping import Tiles
from stepgen.ir.arguments import checked
from stepgen.ir.buffer_reading import strides
from stepgen.ir.converter import Nest, converter, share, walks
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn
from stepgen.ir.itensor import Itensor, as_itensor
from stepgen.ir.offchip import layout_of
from stepgen.ir.operator import functions
from stepgen.ir.ordering import order_of
from stepgen.ir.stream import Stream
from stepgen.ir.tile_order import Unknown
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class Way:
    """One way to bring a stream in another order.

    Attributes
    ----------
    name : str
        ``as it is``, ``new tiles``, ``repeat``, ``buffer`` or ``read again``.
    bits : int
        Of on-chip memory: what is buffered, without the stop of each beat.
    own : int
        Of these bits, those that stay where another reader has the same buffer.
    bytes : int
        That are read from off-chip memory in addition.
    why : str
        What it does, in words.
    make : callable
        Adds its operators and returns the stream.
    """

    name: str
    bits: int
    own: int
    bytes: int
    why: str
    make: Callable[[], Stream]


@checked
def convert_order(
    x: Stream,
    itensor: Itensor | str,
    *,
    of: Itensor | str | None = None,
    rank: int | None = None,
    budget: int | None = None,
) -> Stream:
    """A stream in another order, by the converter that costs least.

    A stream that comes in this order stays as it is. Tiles are joined and cut where that is enough;
    else the smallest part of the tensor that both orders bring at a time is buffered. Where a load
    is read by others too, the tensor may be read again instead. Ways that read nothing in addition
    go first, then those with the least memory.

    Parameters
    ----------
    x : Stream
        Tiles; the dims that bring the tensor are static.
    itensor : Itensor or str
        The order that is wanted, of the same tensor.
    of : Itensor or str, optional
        The order of `x`, by default what `Stream.itensor` says.
    rank : int, optional
        Number of innermost dims of `x` that bring the tensor, by default all. With it `of` and
        `itensor` are orders of what these dims bring, once for each place of the outer dims, which
        stay.
    budget : int, optional
        Most bits of on-chip memory.

    Returns
    -------
    Stream
        With a dim for each loop of the type, below the outer dims.

    Raises
    ------
    StepError
        If the orders are of different tensors, tiles overlap, or no way fits into the budget; both
        types are printed. If a rank comes without `of`.

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
    found = ways(x, itensor, of=of, rank=rank)
    fitting = [way for way in found if budget is None or way.bits <= budget]
    if not fitting:
        least = min(found, key=lambda way: way.bits)
        raise StepError(
            f"convert_order at {user_line()}: {x.name} comes as {of or x.itensor}, and "
            f"as {itensor} it takes at least {least.bits} bits on chip, more than the {budget} of "
            f"the budget"
        )
    return cheapest(fitting).make()


def cheapest(found: Sequence[Way]) -> Way:
    """The way that reads least in addition, then that with the least memory."""
    return min(found, key=lambda way: (way.bytes, way.bits))


@checked
def ways(
    x: Stream, itensor: Itensor | str, *, of: Itensor | str | None = None, rank: int | None = None
) -> list[Way]:
    """All ways to bring a stream in another order; parameters are those of `convert_order`.

    Returns
    -------
    list of Way

    Raises
    ------
    StepError
        If the orders are of different tensors, tiles overlap, or a rank comes without `of`.
    """
    target = as_itensor(itensor)
    if rank is not None and (of is None or not 0 <= rank <= len(x.shape)):
        raise StepError(
            f"convert_order at {user_line()}: rank={rank} of {x.name}, {x}, must be 0 to "
            f"{len(x.shape)}, and needs of=, the order that so many dims have"
        )
    source = x.itensor if of is None else as_itensor(of)
    if source == target:
        return [Way("as it is", 0, 0, 0, "a FIFO joins equal types", lambda: x)]
    tiles = Tiles(x, len(x.shape) if rank is None else rank)
    if source.is_static and source.tokens != _count(tiles):
        raise StepError(
            f"convert_order at {user_line()}: {x.name} has {_count(tiles)} tiles and not the "
            f"{source.tokens} of {source}"
        )
    converter(source, target)  # with its checks
    found = [_converted(tiles, source, target)]
    if (again := _read_again(x, source, target, of)) is not None:
        found.append(again)
    return found


def _count(tiles: Tiles) -> int:
    """The number of tiles of a tensor."""
    x = tiles.stream
    if any(dim.static is None for dim in x.shape[tiles.outer :]):
        raise StepError(
            f"convert_order at {user_line()}: the dims of {x.name}, {x}, must be static: its "
            f"buffers and tiles are cut by number"
        )
    return prod(tiles.dims)


def _converted(x: Tiles, source: Itensor, target: Itensor) -> Way:
    """By a buffer of the smallest tiles of both, or without one."""
    piece = [gcd(a, b) for a, b in zip(source.tile, target.tile, strict=True)]
    steps = _steps(source, target, piece)
    words = "" if source.tile == target.tile else f"tiles of {_say(piece)}, "
    several = any(dim.static != 1 for dim in x.stream.shape[: x.outer])
    # One row is cut by its stops.
    joined = _moved(target, piece, 1 + (several or target.tokens > 1))
    bits, passes = _moved(source, piece, 2 * (source.tile[-2] > 1)) + joined, []
    for nest in steps:
        chunk = prod(int(n) for n, _ in nest.source)
        twice = several or prod(int(n) for n, _ in nest.shared) > 1
        bits += (1 + twice) * chunk * prod(piece) * source.element.bits
        passes.append(f"{chunk} tiles of {_say(piece)} at a time")
    if not steps:
        name, why = "new tiles", f"tiles of {_say(piece)}, which come in this order"
    elif all(_once(nest) for nest in steps):
        name, why = "repeat", f"{words}each {_times(steps[0])} times"
    else:
        name, why = "buffer", f"{words}buffers {' and then '.join(passes)}"

    def make() -> Stream:
        made = _cut(x, source, piece)
        for nest in steps:
            made = _buffered(made, nest)
        return _join(made, target, piece).stream

    own = joined if name == "buffer" else bits
    return Way(name, bits, own, 0, why, make)


def _once(nest: Nest) -> bool:
    """Whether a buffer would hold a tile, which is repeated."""
    return prod(int(n) for n, _ in nest.source) == 1


def _times(nest: Nest) -> int:
    return prod(int(n) for n, _ in nest.target)


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
        order = Itensor(
            piece, cut.element, loops, [(dims.index(d),) for d in range(len(dims))]
        ).canonical
        with suppress(Unknown):
            both = [share(walks(a), walks(b)) for a, b in ((cut, order), (order, joined))]
            for one in both:
                strides(one.source, one.target)
            between.append(both)
    return min(between, key=lambda both: sum(prod(int(n) for n, _ in b.source) for b in both))


def _say(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _by(order: Itensor, piece: Sequence[int]) -> Itensor:
    """The order of the pieces of its tiles, row by row."""
    return order.vectorized(piece).canonical


def _moved(order: Itensor, piece: Sequence[int], tiles: int) -> int:
    """Bits of the memory of so many tiles that are cut or joined by columns."""
    return 0 if order.tile[-1] == piece[-1] else tiles * prod(order.tile) * order.element.bits


def _cut(x: Tiles, order: Itensor, piece: Sequence[int]) -> Tiles:
    """The tiles in pieces, row by row, in one dim."""
    (high, wide), (rows, cols) = order.tile[-2:], piece[-2:]
    if rows < high:
        x = x.cut(fn.retile_streamify("row"))
        if rows > 1:
            x = x.joined(rows, fn.retile_row())
    if cols < wide:
        x = x.cut(fn.cut_cols(cols))
    return x


def _join(x: Tiles, order: Itensor, piece: Sequence[int]) -> Tiles:
    """Pieces that come tile by tile as the tiles, with a dim for each loop."""
    down, across = (e // p for e, p in zip(order.tile[-2:], piece[-2:], strict=True))
    if across > 1:
        x = x.joined(across, fn.retile_col())
    if down > 1:
        x = x.joined(down, fn.retile_row())
    return x.in_dims(order.trips)


def _buffered(x: Tiles, nest: Nest) -> Tiles:
    """Chunks that are stored, and read in the order that is wanted; a tile is repeated."""
    shared = [int(n) for n, _ in nest.shared]
    if _once(nest):
        return x.in_dims(shared).repeated(_times(nest))
    outer = shared or [1] * (not x.outer)
    x = x.in_dims([*outer, prod(int(n) for n, _ in nest.source)])
    loops = [(n, s) for n, s in strides(nest.source, nest.target) if n > 1] or [(1, 0)]
    shape, stride = zip(*loops, strict=True)
    return x.read(shape, stride)


def _read_again(
    x: Stream, source: Itensor, target: Itensor, of: Itensor | str | None
) -> Way | None:
    """By another load of the same tensor, if the first one has other readers."""
    node, graph = x.node, x.graph
    whole = node.face.reads == "tensor" and not node.inputs and of is None
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
    load = functions()["linear_offchip_load"]
    return Way("read again", 0, 0, size, why, lambda: load(tensor, itensor=target))
