"""Cycle model of requantize: a pipeline without state."""

from __future__ import annotations

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
from ....timing.laid_out import LaidOut
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


def build(unit: Unit, params: Requantize, machine: LaidOut) -> None:
    """One actor; the pipeline behind it is the output channel's delay."""
    x, y = machine.channel(unit.inputs["x"]), machine.channel(unit.outputs["y"])
    machine.actor(unit.name, "scale", flow, packed(P, x=x, y=y), reads=[x], writes=[y])
