"""bufferize: stores one element per cycle, and sends a reference with the last of a chunk."""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE, VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.tiles.actor import (
    COMMON,
    area,
    bare,
    fresh,
    grab,
    hold,
    is_done,
    rows_of,
    send,
    take,
    value,
)
from stepgen.timing.tiles.buffers import BUFFER, ELEMENT
from stepgen.timing.tiles.program import TileProgram
from stepgen.timing.tiles.streams import holds_tiles

P = record(
    *COMMON._fields,
    "out",
    "x",
    "rank",
    "element_bytes",
    "numbers",
    "first",
    "last",
    "bytes",
    "scalars",
    "refers",
    "most",
    "rows",
)


@step
def store(M: Memory, a: int, t: int) -> int:
    x, out, rank = M[a + P.x], M[a + P.out], M[a + P.rank]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    passes = is_done(beat) or (kind == BARE and low > rank)
    if passes or stop >= rank:
        wait = room(M, out, t)
        if wait != READY:
            return wait
    take(M, x, t)
    if passes:
        send(M, a, out, t, beat if is_done(beat) else bare(low - rank, stop - rank))
        return NEVER if is_done(beat) else acted(M, t)
    if M[a + P.first] == 0:
        M[a + P.first] = M[a + P.last] = grab(M, len(ELEMENT))
    else:
        element = grab(M, len(ELEMENT))
        M[M[a + P.last] + ELEMENT.after] = element
        M[a + P.last] = element
    M[M[a + P.last] + ELEMENT.beat] = make_beat(kind, min(stop, rank), low, aux_of(beat))
    if kind == VALUE:
        scalars = M[a + P.numbers] if M[a + P.numbers] else area(aux_of(beat))
        size = M[a + P.element_bytes] * scalars
        M[a + P.bytes] += size
        M[a + P.scalars] += scalars
        hold(M, size)
    M[a + P.rows] += max(1, rows_of(aux_of(beat))) if kind == VALUE and not M[a + P.numbers] else 1
    if stop >= rank:
        if M[a + P.rows] > M[a + P.most] > 0:
            M[FAULT] = a
            return NEVER
        M[a + P.rows] = 0
        buffer = grab(M, len(BUFFER))
        M[buffer + BUFFER.size], M[buffer + BUFFER.start] = M[a + P.bytes], M[a + P.first]
        M[buffer + BUFFER.readers] = M[a + P.refers]
        if not M[a + P.refers]:
            hold(M, -M[a + P.bytes])
        M[a + P.largest] = max(M[a + P.largest], M[a + P.scalars])
        M[a + P.first] = M[a + P.bytes] = M[a + P.scalars] = 0
        send(M, a, out, t, value(buffer, stop - rank))
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The memory is freed when the buffer has been read for the last time, or if nothing will."""
    (x,), out = to.inputs(node), to.output(node)
    size = to.element_bytes(node.inputs[0])
    # Numbers and flags are stored as values, so their extents are those of the type.
    stream = node.inputs[0]
    numbers = 0 if holds_tiles(stream) else to.extent(stream)
    own = fresh(
        P,
        out=out,
        x=x,
        rank=node.attrs["rank"],
        element_bytes=size,
        numbers=numbers,
        first=0,
        last=0,
        bytes=0,
        scalars=0,
        refers=to.refers(node.outputs[0]),
        most=node.attrs.get("most") or 0,
        rows=0,
    )
    actor = to.add(node, store, own, reads=[x], writes=[out])
    to.faults[actor] = StepError(
        f"{node.name} ({node.where}) stores a buffer of {stream.name} of more than "
        f"{node.attrs.get('most')} rows, for which it has memory"
    )
