"""Cycle model of cap: counts elements and raises stop levels."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.cap.params import Cap
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "level", "chunk", "count", "held")
NOTHING = -1


@helper
def capped(M: Memory, a: int, beat: int) -> int:
    """The beat with its levels for one more dim."""
    kind, stop, low, level = kind_of(beat), stop_of(beat), low_of(beat), M[a + P.level]
    if kind == DONE or (kind == VALUE and stop < level):
        return beat
    if kind == BARE and low > level:
        return make_beat(BARE, stop + 1, low + 1, 0)
    M[a + P.count] += 1
    if stop > level or M[a + P.count] == M[a + P.chunk]:
        M[a + P.count] = 0
        stop += 1
    return make_beat(kind, stop, low, aux_of(beat))


@step
def flow(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    push(M, y, t, capped(M, a, pop(M, x, t)))
    return acted(M, t)


@step
def hold(M: Memory, a: int, t: int) -> int:
    x, y, level, held = M[a + P.x], M[a + P.y], M[a + P.level], M[a + P.held]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        M[a + P.held] = capped(M, a, pop(M, x, t))
        return acted(M, t)
    if kind_of(held) != DONE and stop_of(held) == level:
        if seen != READY:
            return seen
        if kind_of(head(M, x)) == DONE:
            held = make_beat(kind_of(held), level + 1, low_of(held), aux_of(held))
    wait = room(M, y, t)
    if wait != READY:
        return wait
    push(M, y, t, held)
    M[a + P.held] = capped(M, a, pop(M, x, t)) if seen == READY else NOTHING
    return acted(M, t)


def build(unit: Unit, params: Cap, layout: DesignLayout) -> None:
    """One actor with a counter, and a holding register if no dim is above."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(
        unit.name,
        "count",
        hold if params.outermost else flow,
        packed(P, x=x, y=y, level=params.level, chunk=params.chunk, count=0, held=NOTHING),
        reads=[x],
        writes=[y],
    )
