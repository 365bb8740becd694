"""Cycle model of running_max: a beat for a beat, which takes a turn where it is columnwise."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.running_max.params import RunningMax
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "turn", "works")


@step
def compute(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if not M[a + P.works] and M[a + P.turn] > 1 and kind_of(head(M, x)) == VALUE:
        M[a + P.works] = 1
        return acted(M, t + M[a + P.turn] - 2)
    wait = room(M, y, t)
    if wait != READY:
        return wait
    M[a + P.works] = 0
    push(M, y, t, pop(M, x, t))
    return acted(M, t)


def build(unit: Unit, params: RunningMax, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    turn = params.turn(layout.design.lanes)
    layout.horizon = max(layout.horizon, turn + 2)
    own = packed(P, x=x, y=y, turn=turn, works=0)
    layout.actor(unit.name, "compute", compute, own, reads=[x], writes=[y])
