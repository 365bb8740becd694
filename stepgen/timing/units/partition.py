"""Timing of partition: a beat moves when all the outputs that its selector names have room.

The end goes on without the selectors', which is taken behind it.
"""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE
from ..kernel import (
    NEVER,
    OWN,
    READY,
    acted,
    aux_of,
    finish,
    head,
    kind_of,
    low_of,
    make_beat,
    pop,
    push,
    ready,
    room,
    step,
    stop_of,
)
from ..laid_out import LaidOut
from ..selector import selected

IN, SELECTOR, LEVEL, SURPLUS, ENDED, COUNT, OUTS = range(OWN, OWN + 7)


@step
def route(M, a, t):  # type: ignore[no-untyped-def]
    x, selectors, level, count = M[a + IN], M[a + SELECTOR], M[a + LEVEL], M[a + COUNT]
    if M[a + ENDED]:
        wait = ready(M, selectors, t)
        if wait != READY:
            return wait
        if kind_of(head(M, selectors)) != DONE and not M[a + SURPLUS]:
            return NEVER
        if kind_of(pop(M, selectors, t)) == DONE:
            M[a + ENDED] = 0
            finish(M, a)
        return acted(M, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind = kind_of(beat)
    if kind == DONE:
        for n in range(count):
            wait = room(M, M[a + OUTS + n], t)
            if wait != READY:
                return wait
        for n in range(count):
            push(M, M[a + OUTS + n], t, beat)
        pop(M, x, t)
        M[a + ENDED] = 1
        return acted(M, t)
    wait = ready(M, selectors, t)
    if wait != READY:
        return wait
    selector = head(M, selectors)
    above = kind == BARE and low_of(beat) > level
    if kind_of(selector) == DONE or above != (kind_of(selector) == BARE):
        return NEVER
    if not above:
        for n in range(count):
            if selected(M, selector, n, count):
                wait = room(M, M[a + OUTS + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind, min(stop_of(beat), level), low_of(beat), aux_of(beat))
        for n in range(count):
            if selected(M, selector, n, count):
                push(M, M[a + OUTS + n], t, sent)
    pop(M, x, t)
    if stop_of(beat) >= level:
        pop(M, selectors, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor for all outputs."""
    x, selectors = (machine.channel(name) for name in unit.inputs)
    outs = [machine.channel(name) for name in unit.outputs]
    own = [x, selectors, unit.params["level"], int(unit.params["surplus"]), 0, len(outs), *outs]
    machine.actor(unit.name, "route", route, own, reads=[x, selectors], writes=outs, finishes=True)
