"""streamify: reads a buffer back, one element per cycle; the reference stays for all readings."""

from ....ir.dtypes import Buffer
from ....ir.stream import Node
from ..actor import (
    BARE,
    NEVER,
    PORTS,
    READY,
    VALUE,
    acted,
    aux_of,
    bare,
    can_pass,
    head,
    helper,
    is_done,
    kind_of,
    low_of,
    make_beat,
    ready,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..buffers import AFTER, BEAT, START, release
from ..program import Program

OUT, IN, REF, RANK, LEVELS, TIMES, PASSES, AT, AFFINE, STEP_NUMBER = range(PORTS, PORTS + 10)
WALK = PORTS + 10
"""For an affine reading: how many tiles it has, then number and stop of each."""
NO_REF = 0


@helper
def read(M, a, t, buffer, close):  # type: ignore[no-untyped-def]
    """Emit the next element of a reading, whose last closes `close` dims; whether it was that."""
    out = M[a + OUT]
    if M[a + AFFINE]:
        i = M[a + STEP_NUMBER]
        number, stop = M[a + WALK + 1 + 2 * i], M[a + WALK + 2 + 2 * i]
        at = M[buffer + START]
        for _ in range(number):
            at = M[at + AFTER]
        last = i + 1 == M[a + WALK]
        send(M, a, out, t, value(aux_of(M[at + BEAT]), close if last else stop))
        M[a + STEP_NUMBER] = 0 if last else i + 1
        return last
    at = M[a + AT] if M[a + AT] else M[buffer + START]
    beat = M[at + BEAT]
    M[a + AT] = M[at + AFTER]
    last = M[a + AT] == 0
    stop = close if last else stop_of(beat)
    send(M, a, out, t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
    return last


@step
def count(M, a, t):  # type: ignore[no-untyped-def]
    x, out, levels = M[a + IN], M[a + OUT], M[a + LEVELS]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    above = int(M[a + TIMES] > 0)
    if is_done(beat):
        send(M, a, out, t, take(M, x, t))
        return NEVER
    if kind_of(beat) == BARE:
        take(M, x, t)
        send(M, a, out, t, bare(low_of(beat) + levels + above, stop_of(beat) + levels + above))
        return acted(M, t)
    final = M[a + PASSES] + 1 >= M[a + TIMES]
    close = levels + above + stop_of(beat) if final else levels
    if read(M, a, t, aux_of(beat), close):
        M[a + PASSES] += 1
        if final:
            M[a + PASSES] = 0
            release(M, aux_of(beat))
            take(M, x, t)
    return acted(M, t)


@step
def follow(M, a, t):  # type: ignore[no-untyped-def]
    x, ref, out, levels, rank = M[a + IN], M[a + REF], M[a + OUT], M[a + LEVELS], M[a + RANK]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    mark, item = head(M, ref), head(M, x)
    if is_done(mark) or (kind_of(mark) == BARE and low_of(mark) > rank):
        take(M, x, t)
        take(M, ref, t)
        if is_done(mark):
            send(M, a, out, t, mark)
            return NEVER
        send(M, a, out, t, bare(low_of(mark) + levels, stop_of(mark) + levels))
        return acted(M, t)
    if kind_of(mark) == BARE:
        send(M, a, out, t, bare(low_of(mark) + levels, stop_of(mark) + levels))
    elif kind_of(item) == VALUE and not read(M, a, t, aux_of(item), levels + stop_of(mark)):
        return acted(M, t)
    take(M, ref, t)
    if kind_of(item) != VALUE or stop_of(mark) >= rank:
        if kind_of(item) == VALUE:
            release(M, aux_of(item))
        take(M, x, t)
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """A buffer is given back after its last reading, unless another consumer still has it."""
    ins, out = to.inputs(node), to.output(node)
    walk = to.walk(node)
    shape = node.attrs["shape"]
    buffer = node.inputs[0].dtype
    assert isinstance(buffer, Buffer)
    levels = len(buffer.shape if shape is None else shape)
    counted = len(ins) == 1
    rank = 0 if counted else node.inputs[1].rank - node.inputs[0].rank
    times = node.attrs["count"] or 0
    own = [out, ins[0], NO_REF if counted else ins[1], rank, levels, times, 0, 0, bool(walk), 0]
    to.add(node, count if counted else follow, [*own, *walk], reads=ins, writes=[out])
