"""Cycle model of rotate_pairs: a beat for a beat, with or without a holding register."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.rotate_pairs.params import RotatePairs
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "held")
NOTHING = -1


@step
def flow(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + P.x], M[a + P.y], t)
    if wait != READY:
        return wait
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


@step
def hold(M: Memory, a: int, t: int) -> int:
    x, y, held = M[a + P.x], M[a + P.y], M[a + P.held]
    arrives = ready(M, x, t)
    waits = held != NOTHING and kind_of(held) == VALUE and stop_of(held) == 0
    if (held == NOTHING or waits) and arrives != READY:
        return arrives
    if held != NOTHING:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
        M[a + P.held] = NOTHING
    if ready(M, x, t) == READY:
        M[a + P.held] = pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: RotatePairs, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    flows = hold if params.straddles else flow
    own = packed(P, x=x, y=y, held=NOTHING)
    layout.actor(unit.name, "rotate", flows, own, reads=[x], writes=[y])
