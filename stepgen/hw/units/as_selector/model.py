"""Cycle model of as_selector: takes a row, and sends a selector with its last beat."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.as_selector.params import AsSelector
from stepgen.ir.wire import DONE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "slices", "slice", "next")


@step
def gather(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == VALUE and M[a + P.slice] + 1 < M[a + P.slices]:
        M[a + P.slice] += 1
        pop(M, x, t)
        return acted(M, t)
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    pop(M, x, t)
    kind, stop = kind_of(beat), stop_of(beat) - TILE_LEVELS
    if kind == VALUE:
        beat = make_beat(VALUE, stop, 0, M[M[a + P.next]])
        M[a + P.next] += 1
        M[a + P.slice] = 0
    elif kind != DONE:
        beat = make_beat(kind, stop, low_of(beat) - TILE_LEVELS, 0)
    push(M, y, t, beat)
    return acted(M, t)


def build(unit: Unit, params: AsSelector, layout: DesignLayout) -> None:
    """One actor; the contents of its selectors are given, as those of an input are."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    slices = params.slices(layout.design.lanes)
    own = packed(P, x=x, y=y, slices=slices, slice=0, next=layout.decided(unit))
    layout.actor(unit.name, "gather", gather, own, reads=[x], writes=[y])
