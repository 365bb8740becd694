"""Cycle model of one-hot: a selector for each set bit of the one at the head."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.one_hot.params import OneHot
from stepgen.ir.wire import BARE, DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.selector import selected

P = record("x", "y", "bits", "next", "one")


@step
def flow(M: Memory, a: int, t: int) -> int:
    x, y, bits = M[a + P.x], M[a + P.y], M[a + P.bits]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    if kind != VALUE:
        pop(M, x, t)
        push(M, y, t, beat if kind == DONE else make_beat(BARE, stop + 1, low_of(beat) + 1, 0))
        return acted(M, t)
    first = M[a + P.next]
    while first < bits and not selected(M, beat, first, bits):
        first += 1
    second = first + 1
    while second < bits and not selected(M, beat, second, bits):
        second += 1
    last = second >= bits
    stop = stop + 1 if last else 0
    if first >= bits:
        push(M, y, t, make_beat(BARE, stop, 1, 0))
    else:
        # Bit k of the selector is word k from here on: the one that is 1 lies behind all zeros.
        mask = 1 if bits == 1 else a + P.one + bits - 1 - first
        push(M, y, t, make_beat(VALUE, stop, 0, mask))
    M[a + P.next] = 0 if last else second
    if last:
        pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: OneHot, layout: DesignLayout) -> None:
    """One actor, which knows the next bit."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    zeros = [0] * (params.bits - 1)
    own = packed(P, x=x, y=y, bits=params.bits, next=0, one=[*zeros, 1, *zeros])
    layout.actor(unit.name, "select", flow, own, reads=[x], writes=[y])
