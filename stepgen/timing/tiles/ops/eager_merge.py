"""eager_merge: the chunk that has waited longest comes first; one element per cycle."""

from ....ir.stream import Node
from ...kernel import ANY, note
from ..actor import (
    NEVER,
    PORTS,
    READY,
    acted,
    can_pass,
    done_beat,
    head,
    is_done,
    ready,
    room,
    send,
    step,
    stop_of,
    take,
    value,
)
from ..program import Program
from .reassemble import arrived_at

OUT, NAMES, RANK, CURRENT, OPEN, COUNT, ENDED, NOTES, ONE_HOT, INS = range(PORTS, PORTS + 10)
NONE = -1


@step
def merge(M, a, t):  # type: ignore[no-untyped-def]
    out, names, count = M[a + OUT], M[a + NAMES], M[a + COUNT]
    if M[a + CURRENT] == NONE:
        best, wait = NONE, ANY
        for n in range(count):
            if M[M[a + ENDED] + n]:
                continue
            c = M[M[a + INS] + n]
            seen = ready(M, c, t)
            if seen == READY and is_done(head(M, c)):
                take(M, c, t)
                M[M[a + ENDED] + n] = 1
                M[a + OPEN] -= 1
            elif seen == READY:
                if best == NONE or arrived_at(M, c) < arrived_at(M, M[M[a + INS] + best]):
                    best = n
            elif seen > 0 and (wait < 0 or seen < wait):
                wait = seen
        if best == NONE and M[a + OPEN]:
            return wait
        for c in (out, names):
            full = room(M, c, t)
            if full != READY:
                return full
        if best == NONE:
            send(M, a, out, t, done_beat())
            send(M, a, names, t, done_beat())
            return NEVER
        M[a + CURRENT] = best
        note(M, M[a + NOTES] + best, t)
        bits = M[a + ONE_HOT] + best * count if count > 1 else 1
        send(M, a, names, t, value(bits, 0))
    x = M[M[a + INS] + M[a + CURRENT]]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = take(M, x, t)
    send(M, a, out, t, beat)
    if stop_of(beat) == M[a + RANK]:
        M[a + CURRENT] = NONE
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """Waiting longest first is fair: an input is passed over at most once by each other."""
    xs = to.inputs(node)
    n = len(xs)
    notes = [to.note(node.name, i) for i in range(n)]
    bits = to.reserve([int(i == j) for i in range(n) for j in range(n)])
    ended, ins = to.reserve([0] * n), to.reserve(xs)
    out, names = to.outputs(node)
    own = [out, names, node.attrs["rank"], NONE, n, n, ended, notes[0], bits, ins]
    to.add(node, merge, own, reads=xs, writes=[out, names])
