"""Cycle model of an output stream port."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.sink.params import Sink
from stepgen.ir.stalls import stalled
from stepgen.ir.wire import DONE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "key", "threshold", "late")


@step
def take(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    if t < M[a + P.late] or stalled(M[a + P.key], M[a + P.threshold], t):
        return held_back(M, t)
    if kind_of(pop(M, M[a + P.x], t)) == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, params: Sink, layout: DesignLayout) -> None:
    """A sink accepts a beat in every cycle without a stall; the run lasts until its ``DONE``."""
    x = layout.channel(unit.inputs["x"])
    key, threshold = layout.run.stalls.of(unit.name)
    late = layout.run.stalls.late.get(unit.name, 0)
    layout.actor(
        unit.name,
        "take",
        take,
        packed(P, x=x, key=key, threshold=threshold, late=late),
        reads=[x],
        writes=[],
        finishes=True,
    )
