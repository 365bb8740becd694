"""streamify: reads buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from stepgen.compile.circuit import Circuit
from stepgen.ir.affine import affine, last_tile, reading, reading_text
from stepgen.ir.dims import Dim, show_shape, static, times
from stepgen.ir.dtypes import Buffer
from stepgen.ir.errors import StepError
from stepgen.ir.expr import constant
from stepgen.ir.graph import build
from stepgen.ir.itensor import Itensor, as_itensor
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder, Unknown, Walk, walked
from stepgen.ir.where import user_line
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.semantics.process import Process, Use, lowered, structure
from stepgen.semantics.tokens import Reference, Token

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering
    from stepgen.ir.ordering import Ordering


class Streamify(Operator, Circuit):
    """Buffers ``[D_b..D_0]``, ref ``[D_b..D_0, D'_{c-1}..D'_0]`` -> ``[.. ref .., out shape]``.

    Without ref, ``[D_b..D_0, count, out shape]``, or ``[D_b..D_0, out shape]`` for one reading.
    Attributes of a node: ``count``, ``stride``, ``shape``, ``offset``.
    """

    reads = "buffer"
    moves = True
    covers = "several for each bufferize; affine readings of static tiles"

    def infer(self, call: Call) -> Sequence[Out]:
        """The reference's additional dims are inside the buffers' dims; checks affine reads."""
        buffers, ref = call.inputs[0], call.inputs[1] if len(call.inputs) > 1 else None
        buffer = buffers.dtype
        if not isinstance(buffer, Buffer):
            call.fail(f"{buffers.name} must be a stream of buffers, not {buffers}")
        inner = _dims(call, buffer)
        if ref is not None:
            if call.attrs["count"] is not None:
                call.fail("it takes either a reference stream or a count, not both")
            call.same_dims(
                buffers.shape,
                ref.shape[: len(buffers.shape)],
                buffers.name,
                f"{ref.name} of shape {show_shape(ref.shape)} in its outer dims",
            )
            outer, above = ref.shape, ref.totals
        elif call.attrs["count"] is not None:
            outer = (*buffers.shape, static(call.integer("count", 1)))
            above = (buffers.totals[0] * outer[-1].expr, *buffers.totals)
        else:
            outer, above = buffers.shape, buffers.totals
        totals = {level + len(inner): total for level, total in enumerate(above)}
        volume, once = None, len(outer) == len(buffers.shape)
        if call.attrs["shape"] is None and (once or ref is None):
            stored = buffers.origin.node.face.writes == "buffer"
            if stored and once:
                totals = dict(enumerate(buffers.origin.node.inputs[0].totals)) | totals
            if stored or not any(d.is_ragged for d in buffer.shape):
                volume = times([buffers.volume, constant(call.attrs["count"] or 1)])
        return [Out((*outer, *inner), buffer.tile, totals, volume)]

    def chunks(self, node: Node, rank: int) -> int:
        """All readings of a buffer are of one element."""
        return max(0, rank - (node.outputs[0].rank - node.inputs[0].rank))

    def steers(self, node: Node, index: int) -> bool:
        """The reference does."""
        return index == 1

    def order(self, of: Ordering) -> TileOrder:
        """The tiles of each buffer, as they are read."""
        x = of.input()
        if not x.held:
            return of.own()
        place = len(x.dims) - x.held
        inner = [loop for dim in x.dims[place:] for loop in dim]
        read: Sequence[tuple[Walk, ...]] = x.dims[place:]
        if of.attrs["shape"] is not None:
            if not all(isinstance(trips, int) for trips, _ in inner):
                raise Unknown("a buffer of a dim that is known only at run time is read in parts")
            loops = list(zip(of.attrs["shape"], of.attrs["stride"], strict=True))
            read = walked(inner or [(1, (0,) * len(x.tile))], loops, of.attrs["offset"])
        more = of.out.shape[place : len(of.out.shape) - len(read)]
        made = replace(x.with_dims([*x.dims[:place], *read]), held=0)
        return made.repeated(more, place)

    def run(self, use: Use) -> Process:
        """With or without a reference stream."""
        return _counted(use) if len(use.inputs) == 1 else _by_reference(use)

    def lower(self, node: Node, to: Lowering) -> None:
        """Nothing: the PMU that `bufferize` adds also reads."""


def _dims(call: Call, buffer: Buffer) -> tuple[Dim, ...]:
    """The dims of one reading."""
    if call.attrs["shape"] is None and call.attrs["stride"] is None:
        if call.attrs["offset"]:
            call.fail("an offset belongs to a reading by shape and stride; give them too")
        return buffer.shape
    shape, stride, offset = call.affine()
    extents = [d.static for d in buffer.shape]
    if None in extents:
        call.fail(
            f"shape and stride need a buffer of static dims, not {buffer}, which can only be read "
            f"linearly"
        )
    last = last_tile(shape, stride, offset)
    size = prod(n for n in extents if n is not None)
    if last >= size:
        call.fail(
            f"{reading_text(shape, stride, offset)} reads tile {last} of a {buffer}, "
            f"which has {size} tiles"
        )
    return tuple(static(n) for n in shape)


def _levels(use: Use) -> int:
    """Dims of one reading."""
    if use["shape"] is not None:
        return len(use["shape"])
    buffer = use.inputs[0].stream.dtype
    assert isinstance(buffer, Buffer)
    return len(buffer.shape)


def _read(use: Use, reference: Reference, close: int) -> None:
    """Emit one reading of a buffer, whose last token closes `close` dims."""
    out = use.outputs[0]
    if use["shape"] is None:
        for token in reference.tokens:
            stop = close if token.stop == reference.rank else token.stop
            out.put(Token(token.kind, token.value, stop, token.low))
        return
    tiles = [token.value for token in reference.tokens]
    for number, stop in affine(*reading(use.node.attrs)):
        out.value(tiles[number], close if stop == len(use["shape"]) else stop)


def _counted(use: Use) -> Process:
    buffers, out, levels = use.inputs[0], use.outputs[0], _levels(use)
    repeats, above = (1, 0) if use["count"] is None else (use["count"], 1)
    while True:
        token = yield from buffers.take()
        if token.kind == DONE:
            out.done()
            return
        if token.kind == BARE:
            out.bare(token.low + levels + above, token.stop + levels + above)
            continue
        for i in range(repeats):
            last = i + 1 == repeats
            _read(use, token.value, levels + above + token.stop if last else levels)


def _by_reference(use: Use) -> Process:
    """One buffer belongs to each group of the reference stream, also to an empty one."""
    (buffers, ref), out, levels = use.inputs, use.outputs[0], _levels(use)
    rank = ref.stream.rank - buffers.stream.rank
    while True:
        mark = yield from ref.peek()
        item = yield from buffers.peek()
        yield from ref.take()
        if mark.kind == DONE or (mark.kind == BARE and mark.low > rank):
            yield from buffers.take()
            if structure(item) != (structure(mark) if mark.kind == DONE else lowered(mark, rank)):
                use.mismatch(buffers, item, ref, mark, lift=rank)
            if mark.kind == DONE:
                out.done()
                return
            out.bare(mark.low + levels, mark.stop + levels)
            continue
        if mark.kind == BARE:
            out.bare(mark.low + levels, mark.stop + levels)
        elif item.kind == VALUE:
            _read(use, item.value, levels + mark.stop)
        if item.kind != VALUE or mark.stop >= rank:
            yield from buffers.take()
            if structure(item) != (VALUE, mark.stop - rank, 0):
                use.mismatch(buffers, item, ref, mark, lift=rank)


@public
def streamify(
    buf: Stream,
    ref: Stream | None = None,
    *,
    count: int | None = None,
    stride: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    offset: int = 0,
    itensor: Itensor | str | None = None,
    name: str | None = None,
) -> Stream:
    """Read each buffer once for every reference element that belongs to it.

    Parameters
    ----------
    buf : Stream
        Buffers ``[D_b..D_0]``.
    ref : Stream, optional
        ``[D_b..D_0, D'_{c-1}..D'_0]``; what it carries is ignored. The buffer is released behind
        the last reference that belongs to it.
    count : int, optional
        Instead of `ref`: how often each buffer is read. Without both it is read once.
    stride, shape : sequence of int, optional
        An affine reading, in tiles, of a buffer of static dims; by default all tiles in order.
    offset : int, optional
        Number of the first tile of an affine reading.
    itensor : Itensor or str, optional
        Instead of shape and stride: the order of the stream that it makes. Its outer loops must be
        those of the buffers' stream; the others read each buffer.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_b..D_0, D'_{c-1}..D'_0, shape..]`` of tiles.

    Raises
    ------
    StepError
        If the outer dims differ or a reading goes past the end of a buffer; if a type has other
        outer loops than the stream that is stored, or is of another tensor.

    Notes
    -----
    Streamify (paper, section 3); `count` is its static form.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, ref = g.input("x", sg.int8[8, 8], (4, 3)), g.input("ref", sg.int8[1, 8], (4, 5))
    >>> x.bufferize(rank=1).streamify(ref)
    <streamify_0.0 Stream[int8 8x8; 4, 5, 3]>
    """
    if itensor is not None:
        if ref is not None or (count, stride, shape, offset) != (None, None, None, 0):
            raise StepError(
                f"streamify at {user_line()}: an itensor gives count, shape and stride: leave "
                f"those and the reference out"
            )
        from stepgen.ir.buffer_reading import reading_of

        shape, stride = reading_of(buf, as_itensor(itensor))
    attrs = {"count": count, "stride": stride, "shape": shape, "offset": offset}
    return build("streamify", (buf,) if ref is None else (buf, ref), attrs, name)[0]
