"""Cycle model of limit: passes beats, and takes and counts what is left of a tile too large."""

from __future__ import annotations

from stepgen.hw.design.registers import NUMBER_BITS, TOO_LARGE
from stepgen.hw.design.table import Unit
from stepgen.hw.units.limit.params import Limit
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `number`: complete rows or elements so far
# `state`: whether what comes is passed on, or too much, or nothing comes any more
P = record("x", "y", "most", "level", "limit", "number", "within", "state")
PASSES, TAKES, CLOSED = range(3)
LARGEST_NUMBER = (1 << NUMBER_BITS) - 1


@step
def count(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    if M[a + P.state] == CLOSED:
        return NEVER
    if M[a + P.state] == PASSES:
        wait = can_pass(M, x, y, t)
    else:
        wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    stop = stop_of(beat)
    ends, closes = stop >= M[a + P.level], stop > M[a + P.level]
    pop(M, x, t)
    if M[a + P.state] == TAKES:
        if not M[a + P.within]:
            M[a + P.number] = min(M[a + P.number] + 1, M[a + P.limit])
        M[a + P.within] = not ends
        number = M[a + P.number]
        fault(M, a, t, LARGEST_NUMBER if number == M[a + P.limit] else number)
        if closes:
            M[a + P.state] = CLOSED
        return acted(M, t)
    push(M, y, t, beat)
    if kind_of(beat) == VALUE:
        M[a + P.number] = 0 if closes else M[a + P.number] + ends
        if M[a + P.number] == M[a + P.most]:
            M[a + P.state] = TAKES
    return acted(M, t)


def build(unit: Unit, params: Limit, layout: DesignLayout) -> None:
    """One actor."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(
        P,
        x=x,
        y=y,
        most=params.most,
        level=params.level,
        limit=(1 << params.counted_bits) - 1,
        number=0,
        within=0,
        state=PASSES,
    )
    actor = layout.actor(unit.name, "pass", count, own, reads=[x], writes=[y])
    layout.reports(actor, unit, cause=TOO_LARGE)
