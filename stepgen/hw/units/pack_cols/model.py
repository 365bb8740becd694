"""Cycle model of pack_cols: a beat is held until it is full, or ends its row."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.pack_cols.params import PackCols
from stepgen.ir.wire import VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `slice` is the number of the next beat in its part, `filled` the columns in the beat held
P = record("x", "y", "lanes", "slices", "tail", "slice", "held", "filled")
NOTHING = -1


@step
def pack(M: Memory, a: int, t: int) -> int:
    x, y, lanes, held = M[a + P.x], M[a + P.y], M[a + P.lanes], M[a + P.held]
    arrives = ready(M, x, t)
    waits = held != NOTHING and kind_of(held) == VALUE and stop_of(held) == 0
    if (held == NOTHING or waits) and arrives != READY:
        return arrives
    count = M[a + P.tail] if M[a + P.slice] == M[a + P.slices] - 1 else lanes
    filled = M[a + P.filled] + count if waits else count
    if held != NOTHING and (not waits or filled > lanes):
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
        M[a + P.held] = NOTHING
    if filled > lanes:
        filled -= lanes
    if arrives == READY:
        beat = pop(M, x, t)
        M[a + P.held] = beat
        if kind_of(beat) == VALUE:
            M[a + P.filled] = filled
            M[a + P.slice] = 0 if M[a + P.slice] == M[a + P.slices] - 1 else M[a + P.slice] + 1
    return acted(M, t)


def build(unit: Unit, params: PackCols, layout: DesignLayout) -> None:
    """One actor."""
    x, y, lanes = (
        layout.channel(unit.inputs["x"]),
        layout.channel(unit.outputs["y"]),
        layout.design.lanes,
    )
    own = packed(
        P,
        x=x,
        y=y,
        lanes=lanes,
        slices=params.slices(lanes),
        tail=params.tail(lanes),
        slice=0,
        held=NOTHING,
        filled=0,
    )
    layout.actor(unit.name, "pack", pack, own, reads=[x], writes=[y])
