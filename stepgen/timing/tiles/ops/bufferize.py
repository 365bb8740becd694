"""bufferize: takes in one element per cycle and gives a reference with the last of a chunk."""

from ....ir.stream import Node
from ..actor import (
    BARE,
    LARGEST,
    NEVER,
    PORTS,
    READY,
    VALUE,
    acted,
    area,
    aux_of,
    bare,
    grab,
    head,
    hold,
    is_done,
    kind_of,
    low_of,
    make_beat,
    ready,
    room,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..buffers import AFTER, BEAT, BUFFER_WORDS, ELEMENT_WORDS, READERS, SIZE, START
from ..program import Program
from ..streams import holds_tiles

OUT, IN, RANK, ELEMENT, NUMBERS, FIRST, LAST, BYTES, SCALARS = range(PORTS, PORTS + 9)


@step
def store(M, a, t):  # type: ignore[no-untyped-def]
    x, out, rank = M[a + IN], M[a + OUT], M[a + RANK]
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
    if M[a + FIRST] == 0:
        M[a + FIRST] = M[a + LAST] = grab(M, ELEMENT_WORDS)
    else:
        fresh = grab(M, ELEMENT_WORDS)
        M[M[a + LAST] + AFTER] = fresh
        M[a + LAST] = fresh
    M[M[a + LAST] + BEAT] = make_beat(kind, min(stop, rank), low, aux_of(beat))
    if kind == VALUE:
        scalars = M[a + NUMBERS] if M[a + NUMBERS] else area(aux_of(beat))
        size = M[a + ELEMENT] * scalars
        M[a + BYTES] += size
        M[a + SCALARS] += scalars
        hold(M, size)
    if stop >= rank:
        buffer = grab(M, BUFFER_WORDS)
        M[buffer + SIZE], M[buffer + START] = M[a + BYTES], M[a + FIRST]
        M[buffer + READERS] = 1
        M[a + LARGEST] = max(M[a + LARGEST], M[a + SCALARS])
        M[a + FIRST] = M[a + BYTES] = M[a + SCALARS] = 0
        send(M, a, out, t, value(buffer, stop - rank))
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The space is given back when the buffer has been read for the last time."""
    (x,), out = to.inputs(node), to.output(node)
    size = to.element_bytes(node.inputs[0])
    # Numbers and flags travel as themselves, so their extents are those of the type.
    stream = node.inputs[0]
    numbers = 0 if holds_tiles(stream) else to.extent(stream)
    own = [out, x, node.attrs["rank"], size, numbers, 0, 0, 0, 0]
    to.add(node, store, own, reads=[x], writes=[out])
