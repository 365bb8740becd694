"""Cycle model of discard: consumes an unused stream."""

from __future__ import annotations

from ....ir.wire import DONE
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    finish,
    kind_of,
    packed,
    pop,
    ready,
    record,
    step,
)
from ....timing.laid_out import LaidOut
from ...design.table import Unit
from .params import Discard

P = record("x")


@step
def take(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    if kind_of(pop(M, M[a + P.x], t)) == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, params: Discard, machine: LaidOut) -> None:
    """A beat per cycle."""
    x = machine.channel(unit.inputs["x"])
    machine.actor(unit.name, "take", take, packed(P, x=x), reads=[x], writes=[], finishes=True)
