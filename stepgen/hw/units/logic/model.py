"""Cycle model of logic: a beat of every operand becomes one."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.logic.params import Logic
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("y", "next", "operands", "x")
# The operands' channels lie one after the other from `x`.


@step
def combine(M: Memory, a: int, t: int) -> int:
    wait = all_ready(M, a + P.x, M[a + P.operands], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + P.y], t)
    if wait != READY:
        return wait
    for n in range(1, M[a + P.operands]):
        pop(M, M[a + P.x + n], t)
    beat = pop(M, M[a + P.x], t)
    if kind_of(beat) == VALUE:
        beat = make_beat(VALUE, stop_of(beat), 0, M[M[a + P.next]])
        M[a + P.next] += 1
    push(M, M[a + P.y], t, beat)
    return acted(M, t)


def build(unit: Unit, params: Logic, layout: DesignLayout) -> None:
    """One actor; what it makes is given, as the contents of an input are."""
    x = [layout.channel(name) for name in unit.inputs.values()]
    y = layout.channel(unit.outputs["y"])
    own = packed(P, y=y, next=layout.decided(unit), operands=len(x), x=x)
    layout.actor(unit.name, "combine", combine, own, reads=x, writes=[y])
