"""Cycle model of decode: a beat becomes one."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.decode.params import Decode
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "bits", "first")
# From `first` back lie as many zeros as selectors have bits, less one; there is a 1, and then as
# many zeros again: the selector of consumer n begins n words before `first`.


@step
def decode(M: Memory, a: int, t: int) -> int:
    x, y, bits = M[a + P.x], M[a + P.y], M[a + P.bits]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == VALUE and aux_of(beat) >= bits:
        return fault(M, a, t, aux_of(beat))
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    if kind_of(beat) == VALUE:
        selector = 1 if bits == 1 else M[a + P.first] - aux_of(beat)
        beat = make_beat(VALUE, stop_of(beat), 0, selector)
    pop(M, x, t)
    push(M, y, t, beat)
    return acted(M, t)


def build(unit: Unit, params: Decode, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    spare = [0] * (params.bits - 1)
    first = layout.reserve([*spare, 1, *spare]) + len(spare)
    own = packed(P, x=x, y=y, bits=params.bits, first=first)
    actor = layout.actor(unit.name, "decode", decode, own, reads=[x], writes=[y])
    layout.reports(
        actor,
        unit,
        lambda number: f"{unit.name} gets the address {number}, and has {params.bits} consumers",
    )
