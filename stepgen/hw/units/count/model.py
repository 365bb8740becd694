"""Cycle model of count: the last beat of a chunk gives one."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.count.params import Count
from stepgen.ir.wire import BARE, DONE, VALUE, number_limit
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

P = record("x", "y", "base", "level", "closing", "limit", "start", "number")


@step
def count(M: Memory, a: int, t: int) -> int:
    x, y, closing = M[a + P.x], M[a + P.y], M[a + P.closing]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    above = kind == BARE and low > closing
    number = M[a + P.number]
    if stop >= M[a + P.base] and (kind == VALUE or (kind == BARE and low <= M[a + P.base])):
        number = min(number + 1, M[a + P.limit])
    if kind == DONE or above or stop >= closing:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if above:
            beat = make_beat(BARE, stop - closing, low - closing, 0)
        elif kind != DONE:
            beat = make_beat(VALUE, stop - closing, 0, number)
        push(M, y, t, beat)
    M[a + P.number] = M[a + P.start] if stop >= M[a + P.level] else number
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, params: Count, layout: DesignLayout) -> None:
    """One actor, which counts."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    own = packed(
        P,
        x=x,
        y=y,
        base=params.base,
        level=params.level,
        closing=params.closing,
        limit=number_limit(layout.design.channel[unit.outputs["y"]].bits),
        start=params.start,
        number=params.start,
    )
    layout.actor(unit.name, "count", count, own, reads=[x], writes=[y])
