"""Cycle model of shift_cols: a beat for a beat."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.shift_cols.params import ShiftCols
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y")


@step
def shift(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + P.x], M[a + P.y], t)
    if wait != READY:
        return wait
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


def build(unit: Unit, params: ShiftCols, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(unit.name, "shift", shift, packed(P, x=x, y=y), reads=[x], writes=[y])
