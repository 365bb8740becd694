"""Cycle model of split_lanes: a beat for each element of a slice."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.split_lanes.params import SplitLanes
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "lanes", "sent")


@step
def split(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == VALUE:
        M[a + P.sent] += 1
        ends = M[a + P.sent] == M[a + P.lanes] - aux_of(beat)
        push(M, y, t, make_beat(VALUE, stop_of(beat) if ends else 0, 0, 0))
        if not ends:
            return acted(M, t)
        M[a + P.sent] = 0
    else:
        push(M, y, t, beat)
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: SplitLanes, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, lanes=layout.design.lanes, sent=0)
    layout.actor(unit.name, "split", split, own, reads=[x], writes=[y])
