"""Cycle model of a fork: a beat moves when all outputs have room."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.fork.params import Fork
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "branches", "ys")


@step
def copy(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    wait = all_have_room(M, a + P.ys, M[a + P.branches], t)
    if wait != READY:
        return wait
    push_to_all(M, a + P.ys, M[a + P.branches], t, pop(M, M[a + P.x], t))
    return acted(M, t)


def build(unit: Unit, params: Fork, layout: DesignLayout) -> None:
    """One actor for all outputs."""
    x = layout.channel(unit.inputs["x"])
    ys = [layout.channel(name) for name in unit.outputs.values()]
    own = packed(P, x=x, branches=params.branches, ys=ys)
    layout.actor(unit.name, "copy", copy, own, reads=[x], writes=ys)
