"""Timing of partition: a beat moves when all the outputs that its selector names have room."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE
from ..kernel import (
    NEVER,
    OWN,
    READY,
    acted,
    aux_of,
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

IN, SELECTOR, LEVEL, COUNT, OUTS = range(OWN, OWN + 5)


@step
def route(M, a, t):  # type: ignore[no-untyped-def]
    x, selectors, level, count = M[a + IN], M[a + SELECTOR], M[a + LEVEL], M[a + COUNT]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = ready(M, selectors, t)
    if wait != READY:
        return wait
    beat, selector = head(M, x), head(M, selectors)
    kind = kind_of(beat)
    above = kind == BARE and low_of(beat) > level
    if (kind == DONE) != (kind_of(selector) == DONE) or above != (kind_of(selector) == BARE):
        return NEVER
    if not above:
        for n in range(count):
            if kind == DONE or selected(M, selector, n, count):
                wait = room(M, M[a + OUTS + n], t)
                if wait != READY:
                    return wait
        sent = make_beat(kind, min(stop_of(beat), level), low_of(beat), aux_of(beat))
        for n in range(count):
            if kind == DONE or selected(M, selector, n, count):
                push(M, M[a + OUTS + n], t, sent)
    pop(M, x, t)
    if kind == DONE or stop_of(beat) >= level:
        pop(M, selectors, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor for all outputs."""
    x, selectors = (machine.channel(name) for name in unit.inputs)
    outs = [machine.channel(name) for name in unit.outputs]
    own = [x, selectors, unit.params["level"], len(outs), *outs]
    machine.actor(unit.name, "route", route, own, reads=[x, selectors], writes=outs)
