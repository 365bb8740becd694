"""reassemble: chunks in the order in which they arrive, or of the inputs; one element per cycle."""

from ....ir.errors import StepError
from ....ir.stream import Node
from ...kernel import ANY, LATENCY, POPPED, finish, note, slot
from ...selector import selected
from ..actor import (
    BARE,
    FAULT,
    NEVER,
    PORTS,
    READY,
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
)
from ..program import Program

OUT, SELECTOR, RANK, BY_INDEX, ENDED, CURRENT, LEFT, COUNT, TAKEN, NOTES, INS = range(
    PORTS, PORTS + 11
)
NONE = -1


@helper
def arrived_at(M, c):  # type: ignore[no-untyped-def]
    """When the head of a channel could be seen first."""
    return M[slot(M, c, M[c + POPPED])] + M[c + LATENCY]


@helper
def _choose(M, a, t, selector):  # type: ignore[no-untyped-def]
    """The selected input whose next chunk comes first; sets `CURRENT` or returns how to wait."""
    count = M[a + COUNT]
    best, wait = NONE, ANY
    for n in range(count):
        if not selected(M, selector, n, count) or M[M[a + TAKEN] + n]:
            continue
        c = M[M[a + INS] + n]
        seen = ready(M, c, t)
        if M[a + BY_INDEX]:
            best = n
            if seen != READY:
                return seen
            break
        if seen == READY:
            if best == NONE or arrived_at(M, c) < arrived_at(M, M[M[a + INS] + best]):
                best = n
        elif seen > 0 and (wait < 0 or seen < wait):
            wait = seen
    if best == NONE:
        return wait
    M[a + CURRENT] = best
    M[M[a + TAKEN] + best] = 1
    M[a + LEFT] -= 1
    if not M[a + BY_INDEX]:
        note(M, M[a + NOTES] + best, t)
    return READY


@step
def join(M, a, t):  # type: ignore[no-untyped-def]
    out, selectors, rank, count = M[a + OUT], M[a + SELECTOR], M[a + RANK], M[a + COUNT]
    if M[a + ENDED]:
        for n in range(count):
            wait = ready(M, M[M[a + INS] + n], t)
            if wait != READY:
                return wait
            if not is_done(head(M, M[M[a + INS] + n])):
                M[FAULT] = M[M[a + INS] + n]
                return NEVER
        for n in range(count):
            take(M, M[M[a + INS] + n], t)
        finish(M, a)
        return NEVER
    wait = can_pass(M, selectors, out, t)
    if wait != READY:
        return wait
    choice = head(M, selectors)
    close = stop_of(choice) + rank + 1
    if is_done(choice):
        send(M, a, out, t, take(M, selectors, t))
        M[a + ENDED] = 1
        return acted(M, t)
    if kind_of(choice) == BARE:
        take(M, selectors, t)
        send(M, a, out, t, bare(low_of(choice) + rank + 1, close))
        return acted(M, t)
    if M[a + LEFT] == NONE:
        M[a + LEFT] = 0
        for n in range(count):
            M[a + LEFT] += selected(M, choice, n, count)
        if M[a + LEFT] == 0:
            M[a + LEFT] = NONE
            take(M, selectors, t)
            send(M, a, out, t, bare(rank + 1, close))
            return acted(M, t)
    if M[a + CURRENT] == NONE:
        wait = _choose(M, a, t, choice)
        if wait != READY:
            return wait
    x = M[M[a + INS] + M[a + CURRENT]]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if is_done(head(M, x)):
        return NEVER
    beat = take(M, x, t)
    ends = stop_of(beat) == rank
    stop = close if ends and M[a + LEFT] == 0 else stop_of(beat)
    send(M, a, out, t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
    if ends:
        M[a + CURRENT] = NONE
        if M[a + LEFT] == 0:
            M[a + LEFT] = NONE
            for n in range(count):
                M[M[a + TAKEN] + n] = 0
            take(M, selectors, t)
    return acted(M, t)


def build(node: Node, to: Program) -> None:
    """The end goes on as soon as the selectors end, so that cycles come to theirs.

    The ends of all inputs are taken behind it.
    """
    *xs, selectors = to.inputs(node)
    out = to.output(node)
    notes = [to.note(node.name, n) for n in range(len(xs))]
    taken, ins = to.reserve([0] * len(xs)), to.reserve(xs)
    by_index = node.attrs["order"] == "index"
    own = [out, selectors, node.attrs["rank"], by_index, 0, NONE, NONE]
    own += [len(xs), taken, notes[0], ins]
    to.add(node, join, own, reads=[*xs, selectors], writes=[out], finishes=True)
    for x, stream in zip(xs, node.inputs, strict=False):
        to.faults[x] = StepError(
            f"{node.name} ({node.where}): {stream.name} has a chunk left when the selectors of "
            f"{node.inputs[-1].name} have ended"
        )
