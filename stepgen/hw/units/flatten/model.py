"""Cycle model of flatten: rewrites stop levels, with or without a holding register."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.flatten.params import Flatten
from stepgen.ir.wire import BARE, DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

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
    waits = held != NOTHING and kind_of(held) != DONE and stop_of(held) == lo
    if seen != READY and (waits or held == NOTHING):
        return seen
    beat, closed = NOTHING, 0
    if seen == READY:
        beat = rewritten(head(M, x), lo, hi)
        if stop_of(head(M, x)) > hi:
            closed = stop_of(head(M, x)) - (hi - lo)
    if waits and beat == NOTHING:
        pop(M, x, t)
        if closed:
            M[a + P.held] = make_beat(kind_of(held), closed, low_of(held), aux_of(held))
        return acted(M, t)
    if held != NOTHING:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
    if seen == READY:
        pop(M, x, t)
        if beat == NOTHING and closed:
            beat = make_beat(BARE, closed, lo + 1, 0)
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
