"""Cycle model of join_lanes: the last element of a slice gives a beat, with what it lacks."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.join_lanes.params import JoinLanes
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "lanes", "held")


@step
def join(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    is_value, stop, held = kind_of(beat) == VALUE, stop_of(beat), M[a + P.held]
    sends = not is_value or stop > 0 or held == M[a + P.lanes] - 1
    if sends:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        lacks = M[a + P.lanes] - 1 - held
        push(M, y, t, make_beat(VALUE, stop, 0, lacks) if is_value else beat)
    M[a + P.held] = 0 if sends else held + 1
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: JoinLanes, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, lanes=layout.design.lanes, held=0)
    layout.actor(unit.name, "join", join, own, reads=[x], writes=[y])
