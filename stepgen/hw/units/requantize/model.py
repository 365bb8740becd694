"""Cycle model of requantize: a pipeline without state."""

from __future__ import annotations

from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    can_pass,
    packed,
    pop,
    push,
    record,
    step,
)
from ...design.table import Unit
from .params import Requantize

P = record("x", "y")


@step
def flow(M: Memory, a: int, t: int) -> int:
    wait = can_pass(M, M[a + P.x], M[a + P.y], t)
    if wait != READY:
        return wait
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


def build(unit: Unit, params: Requantize, layout: DesignLayout) -> None:
    """One actor; the pipeline behind it is the output channel's delay."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    layout.actor(unit.name, "scale", flow, packed(P, x=x, y=y), reads=[x], writes=[y])
