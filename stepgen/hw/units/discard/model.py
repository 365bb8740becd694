"""Cycle model of discard: consumes an unused stream."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.discard.params import Discard
from stepgen.ir.wire import DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x")


@step
def take(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    if kind_of(pop(M, M[a + P.x], t)) == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, params: Discard, layout: DesignLayout) -> None:
    """A beat per cycle."""
    x = layout.channel(unit.inputs["x"])
    layout.actor(unit.name, "take", take, packed(P, x=x), reads=[x], writes=[], finishes=True)
