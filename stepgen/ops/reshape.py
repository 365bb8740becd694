"""reshape: splits a dim into two, the inner of a fixed length, or of at most this length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from stepgen.compile.circuit import Circuit
from stepgen.compile.stop_use import stops_unused
from stepgen.ir.dims import ceil_div, chunk_of, show_shape, static
from stepgen.ir.dtypes import FLAG, Tile
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder
from stepgen.ir.wire import BARE, DONE, wire_levels
from stepgen.semantics.numbers import DTYPES, Array, as_element, name_of
from stepgen.semantics.process import Holding, Process, Use
from stepgen.semantics.tokens import Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Reshape(Operator, Circuit):
    """``[.., D, ..]`` -> ``[.., ceil(D/chunk), chunk, ..]``, and for dim 0 the padding flags.

    Without padding ``[.., D]`` -> ``[.., ceil(D/chunk), D']``, where D' is at most `chunk`.
    Attributes of a node: ``dim``, ``chunk``, ``pad``.
    """

    keeps_tiles = True
    optional_outputs = frozenset({1})
    moves = True

    def infer(self, call: Call) -> Sequence[Out]:
        """Only the innermost dim can be padded, or end with a shorter chunk."""
        x = call.inputs[0]
        level, chunk = call.level("dim", x), call.integer("chunk", 1)
        dim = x.dim(level)
        if call.attrs["pad"] is None:
            return [self._unpadded(call, x, level, chunk)]
        if level > 0 and (dim.static is None or dim.static % chunk):
            call.fail(
                f"{x.name} has shape {show_shape(x.shape)}, whose dim D{level} of {dim} must be "
                f"static and divisible by the chunk of {chunk} since only D0 can be padded"
            )
        if level == 0 and isinstance(x.dtype, Tile):
            call.constant("pad", call.attrs["pad"], x.dtype.element)
        if level == 0 and not isinstance(x.dtype, Tile) and (dim.static or 1) % chunk:
            call.fail(f"{x.name} is {x}, but only tiles can be padded")
        chunks = ceil_div(dim, chunk, call.symbols)
        split = x.rank - level
        shape = (*x.shape[:split], chunks, static(chunk), *x.shape[split + 1 :])
        if level > 0:
            totals = {k if k < level else k + 1: total for k, total in enumerate(x.totals)}
            totals[level] = x.totals[level]
            totals[level + 1] = x.totals[level] / chunk
            return [Out(shape, x.dtype, totals, x.volume)]
        above = {k + 1: total for k, total in enumerate(x.totals) if k > 0}
        return [Out(shape, x.dtype, above), Out(shape, FLAG, above)]

    def _unpadded(self, call: Call, x: Stream, level: int, chunk: int) -> Out:
        """Chunks of at most so many elements: what their total is stays as it was."""
        if level > 0:
            call.fail(f"only D0 has chunks of different length (pad=None), not D{level}")
        dim = x.dim(0)
        inner = (ceil_div(dim, chunk, call.symbols), chunk_of(dim, chunk, call.symbols))
        totals = {k + 1: total for k, total in enumerate(x.totals) if k > 0}
        return Out((*x.shape[:-1], *inner), x.dtype, totals | {0: x.totals[0]}, x.volume)

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The structure determines the flags."""
        return () if port == 1 else super().contents(node, port)

    def chunks(self, node: Node, rank: int) -> int | None:
        """Above the split dim smaller by 1."""
        return rank if rank <= node.attrs["dim"] + 1 else rank - 1

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles, if there is no padding."""
        x, level, chunk = of.node.inputs[0], of.attrs["dim"], of.attrs["chunk"]
        if of.port or (x.dim(level).static or 0) % chunk:
            return of.own()
        return of.input().split(x.rank - level, chunk)

    def run(self, use: Use) -> Process:
        """For dim 0 counts elements and may pad, for a dim above counts its groups."""
        if use["pad"] is None:
            return _capped(use)
        return _innermost(use) if use["dim"] == 0 else _above(use)

    def lower(self, node: Node, to: Lowering) -> None:
        """A unit `reshape` for dim 0, `cap` if it is not padded, `group` for a dim above."""
        from stepgen.hw.units.cap.params import Cap
        from stepgen.hw.units.group.params import Group
        from stepgen.hw.units.reshape.params import Reshape as Unit
        from stepgen.hw.units.reshape.params import bits_of

        (x,) = node.inputs
        base, chunk = wire_levels(x.dtype), node.attrs["chunk"]
        if node.attrs["pad"] is None:
            cap = Cap(chunk=chunk, level=base, outermost=x.rank == 0)
            to.unit(node.name, cap, x=to.input(node, 0), y=to.output(node))
            return
        if node.attrs["dim"] > 0:
            group = Group(chunk=chunk, level=base + node.attrs["dim"])
            to.unit(node.name, group, x=to.input(node, 0), y=to.output(node))
            return
        rows, slices, pad = 1, 1, node.attrs["pad"]
        if isinstance(x.dtype, Tile) and base:
            if x.dtype.rows.static is None:
                raise to.fail(node, f"a padding tile needs a static number of rows, not {x.dtype}")
            rows, slices = x.dtype.rows.static, to.slices(node, x.dtype)
            pad = bits_of(pad, x.dtype.element)
        params = Unit(
            chunk=chunk,
            level=base,
            rows=rows,
            slices=slices,
            pad=int(pad),
            prompt=stops_unused(node.outputs[1]),
        )
        y, padding = to.output(node, 0), to.output(node, 1)
        to.unit(node.name, params, x=to.input(node, 0), y=y, padding=padding)


def _flag(padding: bool) -> Array:
    return np.full((1, 1), padding, DTYPES["bool"])


def _innermost(use: Use) -> Process:
    x, chunk = use.inputs[0], use["chunk"]
    data, flags = use.outputs
    count = 0
    last = None

    def fill(stop: int) -> None:
        assert last is not None
        blank = np.broadcast_to(as_element(use["pad"], name_of(last), "pad"), last.shape)
        for i in range(count, chunk):
            data.value(blank, stop if i == chunk - 1 else 0)
            flags.value(_flag(True), stop if i == chunk - 1 else 0)

    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                fill(1)
            data.done()
            flags.done()
            return
        if token.kind == BARE:
            for out in (data, flags):
                out.bare(token.low + 1, token.stop + 1)
            continue
        count, last = count + 1, token.value
        stop = token.stop + 1 if count == chunk else 0
        data.value(token.value, stop)
        flags.value(_flag(False), stop)
        if token.stop and count < chunk:
            fill(token.stop + 1)
        if token.stop or count == chunk:
            count = 0


def _capped(use: Use) -> Process:
    """Without an outer dim the last element is known by the end of the stream alone."""
    x, chunk = use.inputs[0], use["chunk"]
    out = Holding(use.outputs[0], x.stream.rank == 0)
    count = 0
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                out.close(1, 1)
            out.done()
            return
        if token.kind == BARE:
            out.put(Token(BARE, None, token.stop + 1, token.low + 1), final=True)
            continue
        count += 1
        ends = token.stop > 0 or count == chunk
        out.put(Token(token.kind, token.value, token.stop + ends), final=ends)
        if ends:
            count = 0


def _above(use: Use) -> Process:
    x, dim, chunk, out = use.inputs[0], use["dim"], use["chunk"], use.outputs[0]
    count = 0
    while True:
        token = yield from x.take()
        if token.kind == DONE:
            if count:
                use.fail(f"{x.name} ends with {count} of {chunk} items of dim D{dim}")
            out.done()
            return
        if token.kind == BARE and token.low > dim:
            out.bare(token.low + 1, token.stop + 1)
            continue
        stop = token.stop
        if stop >= dim:
            count += 1
            if stop > dim and count != chunk:
                use.fail(f"a group of {x.name} ends with {count} of {chunk} items of dim D{dim}")
            if count == chunk:
                stop, count = stop + 1, 0
        if token.kind == BARE:
            out.bare(token.low, stop)
        else:
            out.value(token.value, stop)


# The return type depends on the dim, which a type checker knows if it is a literal.
@overload
def reshape(x: Stream, *, chunk: int, pad: None, name: str | None = None) -> Stream: ...
@overload
def reshape(
    x: Stream, *, dim: Literal[0] = 0, chunk: int, pad: float = 0, name: str | None = None
) -> tuple[Stream, Stream]: ...
@overload
def reshape(
    x: Stream,
    *,
    dim: Literal[1, 2, 3, 4, 5, 6, 7, 8],
    chunk: int,
    pad: float = 0,
    name: str | None = None,
) -> Stream: ...
@overload
def reshape(
    x: Stream, *, dim: int, chunk: int, pad: float | None = 0, name: str | None = None
) -> Any: ...
@public
def reshape(
    x: Stream, *, dim: int = 0, chunk: int, pad: float | None = 0, name: str | None = None
) -> Any:
    """Split the dim D_dim into chunks.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    dim : int
        Which dim, counted from the innermost. A dim above 0 must be static and divisible.
    chunk : int
        Length of the new inner dim.
    pad : number or None
        What the elements are made of that fill the last chunk of a group (dim 0 only). With None
        nothing fills it: it is shorter, and a group of up to `chunk` elements is one chunk.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream or (Stream, Stream)
        The data ``[.., ceil(D/chunk), chunk, ..]``; for dim 0 also a flag per element that says
        whether it is padding. Without padding the data alone, ``[.., ceil(D/chunk), D']``.

    Raises
    ------
    StepError
        If a dim above 0 is dynamic or not divisible, or is not to be padded.

    Notes
    -----
    Reshape (paper, section 3); every group is padded for itself. Without padding, which the paper
    does not have, rows that are packed into tiles make tiles of at most `chunk` rows.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[1, 8], (4, 6))
    >>> x.reshape(chunk=4)
    (<reshape_0.0 Stream[int8 1x8; 4, 2, 4]>, <reshape_0.1 Stream[bool 1x1; 4, 2, 4]>)
    >>> x.reshape(dim=1, chunk=2)
    <reshape_1.0 Stream[int8 1x8; 2, 2, 6]>
    >>> x.reshape(chunk=4, pad=None)
    <reshape_2.0 Stream[int8 1x8; 4, 2, D0]>
    """
    streams = build("reshape", (x,), {"dim": dim, "chunk": chunk, "pad": pad}, name)
    return streams if len(streams) > 1 else streams[0]
