"""reassemble: merges chunks in order of arrival or of the inputs; one element per cycle."""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import BARE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT, LATENCY, POPPED, note, slot
from stepgen.timing.selector import selected
from stepgen.timing.tiles.actor import COMMON, bare, fresh, is_done, send, take
from stepgen.timing.tiles.program import TileProgram

P = record(
    *COMMON._fields,
    "out",
    "selectors",
    "rank",
    "by_index",
    "ended",
    "current",
    "left",
    "count",
    "taken",
    "notes",
    "ins",
)
NONE = -1


@helper
def arrived_at(M: Memory, c: int) -> int:
    """First cycle in which the head of a channel was visible."""
    return M[slot(M, c, M[c + POPPED])] + M[c + LATENCY]


@helper
def _choose(M: Memory, a: int, t: int, selector: int) -> int:
    """Choose the selected input whose next chunk is first; `READY`, or what to wait for."""
    count = M[a + P.count]
    best, wait = NONE, ANY
    for n in range(count):
        if not selected(M, selector, n, count) or M[M[a + P.taken] + n]:
            continue
        c = M[M[a + P.ins] + n]
        seen = ready(M, c, t)
        if M[a + P.by_index]:
            best = n
            if seen != READY:
                return seen
            break
        if seen == READY:
            if best == NONE or arrived_at(M, c) < arrived_at(M, M[M[a + P.ins] + best]):
                best = n
        elif seen > 0 and (wait < 0 or seen < wait):
            wait = seen
    if best == NONE:
        return wait
    M[a + P.current] = best
    M[M[a + P.taken] + best] = 1
    M[a + P.left] -= 1
    if not M[a + P.by_index]:
        note(M, M[a + P.notes] + best, t)
    return READY


@step
def join(M: Memory, a: int, t: int) -> int:
    out, selectors, rank, count = M[a + P.out], M[a + P.selectors], M[a + P.rank], M[a + P.count]
    if M[a + P.ended]:
        for n in range(count):
            wait = ready(M, M[M[a + P.ins] + n], t)
            if wait != READY:
                return wait
            if not is_done(head(M, M[M[a + P.ins] + n])):
                M[FAULT] = M[M[a + P.ins] + n]
                return NEVER
        for n in range(count):
            take(M, M[M[a + P.ins] + n], t)
        finish(M, a)
        return NEVER
    wait = can_pass(M, selectors, out, t)
    if wait != READY:
        return wait
    choice = head(M, selectors)
    close = stop_of(choice) + rank + 1
    if is_done(choice):
        send(M, a, out, t, take(M, selectors, t))
        M[a + P.ended] = 1
        return acted(M, t)
    if kind_of(choice) == BARE:
        take(M, selectors, t)
        send(M, a, out, t, bare(low_of(choice) + rank + 1, close))
        return acted(M, t)
    if M[a + P.left] == NONE:
        M[a + P.left] = 0
        for n in range(count):
            M[a + P.left] += selected(M, choice, n, count)
        if M[a + P.left] == 0:
            M[a + P.left] = NONE
            take(M, selectors, t)
            send(M, a, out, t, bare(rank + 1, close))
            return acted(M, t)
    if M[a + P.current] == NONE:
        wait = _choose(M, a, t, choice)
        if wait != READY:
            return wait
    x = M[M[a + P.ins] + M[a + P.current]]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if is_done(head(M, x)):
        return NEVER
    beat = take(M, x, t)
    ends = stop_of(beat) == rank
    stop = close if ends and M[a + P.left] == 0 else stop_of(beat)
    send(M, a, out, t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
    if ends:
        M[a + P.current] = NONE
        if M[a + P.left] == 0:
            M[a + P.left] = NONE
            for n in range(count):
                M[M[a + P.taken] + n] = 0
            take(M, selectors, t)
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """The done beat of the selectors is sent at once, so that loops end.

    Those of all inputs are consumed after it.
    """
    *xs, selectors = to.inputs(node)
    out = to.output(node)
    notes = [to.note(node.name, n) for n in range(len(xs))]
    taken, ins = to.reserve([0] * len(xs)), to.reserve(xs)
    by_index = node.attrs["order"] == "index"
    own = fresh(
        P,
        out=out,
        selectors=selectors,
        rank=node.attrs["rank"],
        by_index=by_index,
        ended=0,
        current=NONE,
        left=NONE,
        count=len(xs),
        taken=taken,
        notes=notes[0],
        ins=ins,
    )
    to.add(node, join, own, reads=[*xs, selectors], writes=[out], finishes=True)
    for x, stream in zip(xs, node.inputs, strict=False):
        to.faults[x] = StepError(
            f"{node.name} ({node.where}): {stream.name} has a chunk left when the selectors of "
            f"{node.inputs[-1].name} have ended"
        )
