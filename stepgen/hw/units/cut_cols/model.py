"""Cycle model of cut_cols: a beat for each element of a row."""

from __future__ import annotations

from ....ir.wire import BARE, TILE_LEVELS, VALUE
from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    can_pass,
    head,
    kind_of,
    low_of,
    make_beat,
    packed,
    pop,
    push,
    record,
    step,
    stop_of,
)
from ...design.table import Unit
from .params import CutCols

P = record("x", "y", "columns", "lanes", "column")


@step
def cut(M: Memory, a: int, t: int) -> int:
    x, y = M[a + P.x], M[a + P.y]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) != VALUE:
        pop(M, x, t)
        if kind_of(beat) == BARE:
            beat = make_beat(BARE, stop_of(beat) + 1, low_of(beat) + 1, 0)
        push(M, y, t, beat)
        return acted(M, t)
    M[a + P.column] += 1
    last = M[a + P.column] == M[a + P.columns]
    push(M, y, t, make_beat(VALUE, stop_of(beat) + 1 if last else TILE_LEVELS, 0, 0))
    if last or M[a + P.column] % M[a + P.lanes] == 0:
        pop(M, x, t)
    if last:
        M[a + P.column] = 0
    return acted(M, t)


def build(unit: Unit, params: CutCols, layout: DesignLayout) -> None:
    """One actor, which knows the column."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    lanes = layout.design.lanes
    own = packed(P, x=x, y=y, columns=params.columns, lanes=lanes, column=0)
    layout.actor(unit.name, "cut", cut, own, reads=[x], writes=[y])
