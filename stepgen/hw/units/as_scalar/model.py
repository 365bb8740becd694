"""Cycle model of as_scalar: each beat passes, two levels lower."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.as_scalar.params import AsScalar
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "next")


@step
def convert(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = pop(M, x, t)
    stop = stop_of(beat) - TILE_LEVELS
    if kind_of(beat) == BARE:
        beat = make_beat(BARE, stop, low_of(beat) - TILE_LEVELS, 0)
    elif kind_of(beat) == VALUE:
        beat = make_beat(VALUE, stop, 0, M[M[a + P.next]])
        M[a + P.next] += 1
    push(M, y, t, beat)
    return acted(M, t)


def build(unit: Unit, params: AsScalar, layout: DesignLayout) -> None:
    """One actor; what it makes is given, as the contents of an input are."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(P, x=x, y=y, next=layout.decided(unit))
    layout.actor(unit.name, "convert", convert, own, reads=[x], writes=[y])
