"""Cycle model of flatten: rewrites stop levels, with or without a holding register."""

from __future__ import annotations

from ....ir.wire import BARE, DONE
from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    aux_of,
    head,
    helper,
    kind_of,
    low_of,
    make_beat,
    packed,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)
from ...design.table import Unit
from .params import Flatten

P = record("x", "y", "lo", "hi", "held")
NOTHING = -1


@helper
def rewritten(beat: int, lo: int, hi: int) -> int:
    """The beat with its levels rewritten; `NOTHING` for an empty group that vanishes."""
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
def flow(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = rewritten(head(M, x), M[a + P.lo], M[a + P.hi])
    if beat != NOTHING:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, beat)
    pop(M, x, t)
    return acted(M, t)


@step
def hold(M: Memory, a: int, t: int) -> int:
    x, y, held = M[a + P.x], M[a + P.y], M[a + P.held]
    lo, hi = M[a + P.lo], M[a + P.hi]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        arrived = pop(M, x, t)
        beat = rewritten(arrived, lo, hi)
        if beat == NOTHING and stop_of(arrived) > hi:
            beat = make_beat(BARE, stop_of(arrived) - (hi - lo), lo + 1, 0)
        M[a + P.held] = beat
        return acted(M, t)
    if kind_of(held) != DONE and stop_of(held) == lo:
        if seen != READY:
            return seen
        arrived = head(M, x)
        if rewritten(arrived, lo, hi) == NOTHING:
            pop(M, x, t)
            if stop_of(arrived) > hi:
                M[a + P.held] = make_beat(
                    kind_of(held), stop_of(arrived) - (hi - lo), low_of(held), aux_of(held)
                )
            return acted(M, t)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    push(M, y, t, held)
    M[a + P.held] = NOTHING
    if seen == READY:
        beat = rewritten(head(M, x), lo, hi)
        if beat != NOTHING:
            pop(M, x, t)
            M[a + P.held] = beat
    return acted(M, t)


def build(unit: Unit, params: Flatten, layout: DesignLayout) -> None:
    """One actor, with a holding register where the parameters require it."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(
        unit.name,
        "rewrite",
        hold if params.hold else flow,
        packed(P, x=x, y=y, lo=params.lo, hi=params.hi, held=NOTHING),
        reads=[x],
        writes=[y],
    )
