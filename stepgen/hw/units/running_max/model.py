"""Cycle model of running_max: a beat for a beat."""

from __future__ import annotations

from ....timing.design_layout import DesignLayout
from ....timing.kernel import READY, Memory, acted, can_pass, packed, pop, push, record, step
from ...design.table import Unit
from .params import RunningMax

P = record("x", "y")


@step
def compute(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    push(M, y, t, pop(M, x, t))
    return acted(M, t)


def build(unit: Unit, params: RunningMax, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(unit.name, "compute", compute, packed(P, x=x, y=y), reads=[x], writes=[y])
