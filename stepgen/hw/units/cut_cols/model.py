"""Cycle model of cut_cols: each beat of a part leaves once the last of its columns is there."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.cut_cols.params import CutCols
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `begin` is the lane of x's head at which the next beat begins, negative in the beat before it
P = record("x", "y", "parts", "slices", "tail", "lanes", "apart", "part", "slice", "begin")


@step
def cut(M: Memory, a: int, t: int) -> int:
    x, y, apart, lanes = M[a + P.x], M[a + P.y], M[a + P.apart], M[a + P.lanes]
    wait = can_pass(M, x, y, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    if kind != VALUE:
        pop(M, x, t)
        if kind == BARE:
            beat = make_beat(BARE, stop + apart, low_of(beat) + apart, 0)
        push(M, y, t, beat)
        return acted(M, t)
    final = M[a + P.slices] - 1
    ends_part = M[a + P.slice] == final
    last = ends_part and M[a + P.part] == M[a + P.parts] - 1
    after = 0 if ends_part else M[a + P.slice] + 1
    begin = M[a + P.begin] + (M[a + P.tail] if ends_part else lanes)
    end = begin + (M[a + P.tail] if after == final else lanes)
    if last:
        sent = stop + apart
    else:
        sent = TILE_LEVELS if apart and ends_part else 0
    push(M, y, t, make_beat(VALUE, sent, 0, 0))
    if last or end > lanes:
        pop(M, x, t)
        begin -= lanes
    M[a + P.begin] = 0 if last else begin
    M[a + P.slice] = after
    if ends_part:
        M[a + P.part] = 0 if last else M[a + P.part] + 1
    return acted(M, t)


def build(unit: Unit, params: CutCols, layout: DesignLayout) -> None:
    """One actor, which knows the columns it has sent."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    lanes = layout.design.lanes
    own = packed(
        P,
        x=x,
        y=y,
        parts=params.parts_of_row,
        slices=params.slices(lanes),
        tail=params.tail(lanes),
        lanes=lanes,
        apart=int(params.apart),
        part=0,
        slice=0,
        begin=0,
    )
    layout.actor(unit.name, "cut", cut, own, reads=[x], writes=[y])
