"""Cycle model of reduce_rows: the last beat of a row gives one; the pipeline is behind it."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.reduce_rows.params import ReduceRows
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y")


@step
def reduce(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) != VALUE or stop_of(beat) >= 1:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, beat)
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: ReduceRows, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(unit.name, "reduce", reduce, packed(P, x=x, y=y), reads=[x], writes=[y])
