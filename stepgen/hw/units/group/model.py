"""Cycle model of group: counts items and raises stop levels."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.group.params import Group
from stepgen.ir.wire import BARE, DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "level", "chunk", "count")


@step
def flow(M: Memory, a: int, t: int) -> int:
    x, y, level = M[a + P.x], M[a + P.y], M[a + P.level]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = pop(M, x, t)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind == BARE and low > level:
        beat = make_beat(BARE, stop + 1, low + 1, 0)
    elif kind != DONE and stop >= level:
        M[a + P.count] += 1
        if M[a + P.count] == M[a + P.chunk]:
            M[a + P.count] = 0
            beat = make_beat(kind, stop + 1, low, aux_of(beat))
    push(M, y, t, beat)
    return acted(M, t)


def build(unit: Unit, params: Group, layout: DesignLayout) -> None:
    """One actor with a counter."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, level=params.level, chunk=params.chunk, count=0)
    layout.actor(unit.name, "count", flow, own, reads=[x], writes=[y])
