"""expand: the same element again, one per cycle, as a reference or a count says."""

from ....ir.stream import Node
from ..actor import (
    BARE,
    NEVER,
    PORTS,
    READY,
    VALUE,
    acted,
    aux_of,
    can_pass,
    head,
    is_done,
    kind_of,
    low_of,
    ready,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..program import Program

OUT, IN, REF, RANK, COPIES, MADE = range(PORTS, PORTS + 6)


@step
def repeat(M, a, t):  # type: ignore[no-untyped-def]
    x, out = M[a + IN], M[a + OUT]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == VALUE and M[a + MADE] + 1 < M[a + COPIES]:
        M[a + MADE] += 1
        send(M, a, out, t, value(aux_of(beat), 0))
        return acted(M, t)
    M[a + MADE] = 0
    send(M, a, out, t, beat)
    take(M, x, t)
    return NEVER if is_done(beat) else acted(M, t)


@step
def follow(M, a, t):  # type: ignore[no-untyped-def]
    x, ref, out, rank = M[a + IN], M[a + REF], M[a + OUT], M[a + RANK]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    mark, item = head(M, ref), head(M, x)
    if is_done(mark) or (kind_of(mark) == BARE and low_of(mark) > rank):
        send(M, a, out, t, item)
        take(M, x, t)
        take(M, ref, t)
        return NEVER if is_done(mark) else acted(M, t)
    take(M, ref, t)
    if kind_of(mark) == BARE:
        send(M, a, out, t, mark)
    elif kind_of(item) == VALUE:
        send(M, a, out, t, value(aux_of(item), stop_of(mark)))
    if kind_of(item) != VALUE or stop_of(mark) >= rank:
        take(M, x, t)
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The element stays at the head of its FIFO until it was given for the last time."""
    ins, out = to.inputs(node), to.output(node)
    counted = len(ins) == 1
    rank, copies = (0, node.attrs["count"]) if counted else (node.attrs["rank"], 0)
    own = [out, ins[0], ins[-1], rank, copies, 0]
    to.add(node, repeat if counted else follow, own, reads=ins, writes=[out])
