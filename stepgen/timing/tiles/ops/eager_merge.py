"""eager_merge: the chunk that has waited longest is first; one element per cycle."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.timing.kernel import *
from stepgen.timing.kernel import note
from stepgen.timing.tiles.actor import COMMON, done_beat, fresh, is_done, send, take, value
from stepgen.timing.tiles.ops.reassemble import arrived_at
from stepgen.timing.tiles.program import TileProgram

P = record(
    *COMMON._fields,
    "out",
    "names",
    "rank",
    "current",
    "open",
    "count",
    "ended",
    "notes",
    "one_hot",
    "ins",
)
NONE = -1


@step
def merge(M: Memory, a: int, t: int) -> int:
    out, names, count = M[a + P.out], M[a + P.names], M[a + P.count]
    if M[a + P.current] == NONE:
        best, wait = NONE, ANY
        for n in range(count):
            if M[M[a + P.ended] + n]:
                continue
            c = M[M[a + P.ins] + n]
            seen = ready(M, c, t)
            if seen == READY and is_done(head(M, c)):
                take(M, c, t)
                M[M[a + P.ended] + n] = 1
                M[a + P.open] -= 1
            elif seen == READY:
                if best == NONE or arrived_at(M, c) < arrived_at(M, M[M[a + P.ins] + best]):
                    best = n
            elif seen > 0 and (wait < 0 or seen < wait):
                wait = seen
        if best == NONE and M[a + P.open]:
            return wait
        for c in (out, names):
            full = room(M, c, t)
            if full != READY:
                return full
        if best == NONE:
            send(M, a, out, t, done_beat())
            send(M, a, names, t, done_beat())
            return NEVER
        M[a + P.current] = best
        note(M, M[a + P.notes] + best, t)
        bits = M[a + P.one_hot] + best * count if count > 1 else 1
        send(M, a, names, t, value(bits, 0))
    x = M[M[a + P.ins] + M[a + P.current]]
    wait = can_pass(M, x, out, t)
    if wait != READY:
        return wait
    beat = take(M, x, t)
    send(M, a, out, t, beat)
    if stop_of(beat) == M[a + P.rank]:
        M[a + P.current] = NONE
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """Oldest first is fair: each other input is preferred to a waiting one at most once."""
    xs = to.inputs(node)
    n = len(xs)
    notes = [to.note(node.name, i) for i in range(n)]
    bits = to.reserve([int(i == j) for i in range(n) for j in range(n)])
    ended, ins = to.reserve([0] * n), to.reserve(xs)
    out, names = to.outputs(node)
    own = fresh(
        P,
        out=out,
        names=names,
        rank=node.attrs["rank"],
        current=NONE,
        open=n,
        count=n,
        ended=ended,
        notes=notes[0],
        one_hot=bits,
        ins=ins,
    )
    to.add(node, merge, own, reads=xs, writes=[out, names])
