"""Timing of flatten: a stop unit, with or without a beat held back."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE
from ..kernel import (
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

IN, OUT, LO, HI, HELD = range(OWN, OWN + 5)
NOTHING = -1


@step
def rewritten(M, a, beat):  # type: ignore[no-untyped-def]
    """The beat with its levels rewritten; `NOTHING` for an empty group that vanishes."""
    lo, hi = M[a + LO], M[a + HI]
    stop, low = stop_of(beat), low_of(beat)
    if kind_of(beat) == BARE:
        if lo < low <= hi:
            return NOTHING
        if low > hi:
            low -= hi - lo
    if stop > hi:
        stop -= hi - lo
    elif stop > lo:
        stop = lo
    return make_beat(kind_of(beat), stop, low, aux_of(beat))


@step
def flow(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    beat = rewritten(M, a, head(M, M[a + IN]))
    if beat != NOTHING:
        wait = room(M, M[a + OUT], t)
        if wait != READY:
            return wait
        push(M, M[a + OUT], t, beat)
    pop(M, M[a + IN], t)
    return acted(M, t)


@step
def hold(M, a, t):  # type: ignore[no-untyped-def]
    x, y, held = M[a + IN], M[a + OUT], M[a + HELD]
    lo, hi = M[a + LO], M[a + HI]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        arrived = pop(M, x, t)
        beat = rewritten(M, a, arrived)
        if beat == NOTHING and stop_of(arrived) > hi:
            beat = make_beat(BARE, stop_of(arrived) - (hi - lo), lo + 1, 0)
        M[a + HELD] = beat
        return acted(M, t)
    if kind_of(held) != DONE and stop_of(held) == lo:
        if seen != READY:
            return seen
        arrived = head(M, x)
        if rewritten(M, a, arrived) == NOTHING:
            pop(M, x, t)
            if stop_of(arrived) > hi:
                M[a + HELD] = make_beat(
                    kind_of(held), stop_of(arrived) - (hi - lo), low_of(held), aux_of(held)
                )
            return acted(M, t)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    push(M, y, t, held)
    M[a + HELD] = NOTHING
    if seen == READY:
        beat = rewritten(M, a, head(M, x))
        if beat != NOTHING:
            pop(M, x, t)
            M[a + HELD] = beat
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor; it holds a beat back where the table says so."""
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    machine.actor(
        unit.name,
        "rewrite",
        hold if unit.params["hold"] else flow,
        [x, y, unit.params["lo"], unit.params["hi"], NOTHING],
        reads=[x],
        writes=[y],
    )
