"""Cycle model of the PCU: one beat of every operand at a time; the pipeline is behind it."""

from __future__ import annotations

from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    all_ready,
    packed,
    pop,
    push,
    record,
    room,
    step,
)
from ...design.table import Unit
from .params import Pcu

P = record("y", "operands", "x")
# The operands' channels lie one after the other from `x`.


@step
def flow(M: Memory, a: int, t: int) -> int:
    wait = all_ready(M, a + P.x, M[a + P.operands], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    for n in range(1, M[a + P.operands]):
        pop(M, M[a + P.x + n], t)
    push(M, M[a + P.y], t, pop(M, M[a + P.x], t))
    return acted(M, t)


def build(unit: Unit, params: Pcu, layout: DesignLayout) -> None:
    """One actor; the pipeline is the output channel's delay."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    fields = packed(P, y=y, operands=len(x), x=x)
    layout.actor(unit.name, "compute", flow, fields, reads=x, writes=[y])
