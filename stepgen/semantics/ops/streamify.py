"""streamify: reads buffers, as often as a reference stream or a count says."""

from __future__ import annotations

from stepgen.ir.affine import affine, reading
from stepgen.ir.dtypes import Buffer
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.semantics.ops.bufferize import Reference
from stepgen.semantics.process import Process, Use, lowered, structure
from stepgen.semantics.tokens import Token


def run(use: Use) -> Process:
    """With or without a reference stream."""
    return _counted(use) if len(use.inputs) == 1 else _by_reference(use)


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
