"""Timing of reassemble: one input at a time, in ascending order or in order of arrival."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE, VALUE
from ..kernel import (
    ANY,
    NEVER,
    OWN,
    POPPED,
    PUSHED,
    READY,
    acted,
    aux_of,
    finish,
    head,
    kind_of,
    low_of,
    make_beat,
    note,
    pop,
    push,
    ready,
    room,
    step,
    stop_of,
)
from ..laid_out import LaidOut
from ..selector import selected

OUT, SELECTOR, LEVEL, ARRIVAL, NOTES = range(OWN, OWN + 5)
LOADED, CURRENT, LEFT, SENT, COUNT, INS = range(OWN + 5, OWN + 11)
NOTHING = -1


@step
def pick(M, a, t):  # type: ignore[no-untyped-def]
    """Pick the next input among the `LEFT` ones; the current one was popped in this cycle."""
    count = M[a + COUNT]
    remaining = a + INS + count
    popped, last = M[a + CURRENT], M[a + LEFT] == 1
    M[a + CURRENT] = NOTHING
    for n in range(count):
        if not M[remaining + n]:
            continue
        if M[a + ARRIVAL] and not last:
            if n == popped or ready(M, M[a + INS + n], t) != READY:
                continue
        M[a + CURRENT] = n
        M[a + LEFT] -= 1
        M[remaining + n] = 0
        if M[a + ARRIVAL]:
            note(M, M[a + NOTES] + n, t)
        break
    return READY


@step
def load(M, a, t):  # type: ignore[no-untyped-def]
    """Take the next selector if it is there."""
    count = M[a + COUNT]
    wait = ready(M, M[a + SELECTOR], t)
    if wait != READY:
        M[a + LOADED], M[a + CURRENT] = NOTHING, NOTHING
        return wait
    selector = pop(M, M[a + SELECTOR], t)
    M[a + LOADED] = selector
    for n in range(count):
        bit = kind_of(selector) == VALUE and selected(M, selector, n, count) != 0
        M[a + INS + count + n] = bit
        M[a + LEFT] += bit
    return pick(M, a, t)


@step
def merge(M, a, t):  # type: ignore[no-untyped-def]
    y, level, selector, count = M[a + OUT], M[a + LEVEL], M[a + LOADED], M[a + COUNT]
    if selector == NOTHING:
        wait = load(M, a, t)
        return acted(M, t) if wait == READY else wait
    stop = stop_of(selector) + level + 1
    if M[a + CURRENT] != NOTHING:
        x = M[a + INS + M[a + CURRENT]]
        wait = ready(M, x, t)
        if wait != READY:
            return wait
        wait = room(M, y, t)
        if wait != READY:
            return wait
        beat = head(M, x)
        if kind_of(beat) == DONE:
            return NEVER
        pop(M, x, t)
        if stop_of(beat) < level:
            push(M, y, t, beat)
        elif M[a + LEFT]:
            push(M, y, t, beat)
            pick(M, a, t)
        else:
            push(M, y, t, make_beat(kind_of(beat), stop, low_of(beat), aux_of(beat)))
            load(M, a, t)
        return acted(M, t)
    if M[a + LEFT]:
        pick(M, a, t)
        if M[a + CURRENT] != NOTHING:
            return acted(M, t)
        for n in range(count):
            x = M[a + INS + n]
            if M[a + INS + count + n] and M[x + PUSHED] > M[x + POPPED]:
                return t + 1
        return ANY
    if M[a + SENT]:  # that all heads are ends, goes through a register
        for n in range(count):
            wait = ready(M, M[a + INS + n], t - 1)
            if wait != READY:
                return wait + 1 if wait > 0 else wait
            if kind_of(head(M, M[a + INS + n])) != DONE:
                return NEVER
        for n in range(count):
            pop(M, M[a + INS + n], t)
        M[a + SENT] = 0
        finish(M, a)
    else:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if kind_of(selector) == DONE:
            push(M, y, t, selector)
            M[a + SENT] = 1
            return acted(M, t)
        low = low_of(selector) if kind_of(selector) == BARE else 0
        push(M, y, t, make_beat(BARE, stop, low + level + 1, 0))
    load(M, a, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor for all inputs; in order of arrival it notes what it picked."""
    *xs, selectors = (machine.channel(name) for name in unit.inputs)
    y = machine.channel(unit.outputs[0])
    arrival = unit.params["order"] == "arrival"
    notes = [machine.note(unit.name, n) for n in range(len(xs))] if arrival else [0]
    own = [y, selectors, unit.params["level"], int(arrival), notes[0]]
    own += [NOTHING, NOTHING, 0, 0, len(xs), *xs, *[0] * len(xs)]
    machine.actor(unit.name, "merge", merge, own, reads=[*xs, selectors], writes=[y], finishes=True)
