"""Cycle model of turn_slices: L rows are written, then read column by column."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.turn_slices.params import TurnSlices
from stepgen.ir.wire import TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `row` is the number of complete rows of a block, `begun` whether the block has its buffer
W = record("x", "blocks", "lanes", "row", "begun")
R = record("blocks", "y", "columns", "column")


@step
def write(M: Memory, a: int, t: int) -> int:
    x, blocks = M[a + W.x], M[a + W.blocks]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if not M[a + W.begun]:
        wait = room(M, blocks, t)
        if wait != READY:
            return wait
    beat = pop(M, x, t)
    stop = stop_of(beat)
    if kind_of(beat) == VALUE and stop < TILE_LEVELS:
        last = M[a + W.row] == M[a + W.lanes] - 1
        if stop == 0 or not last:
            M[a + W.begun] = 1
            M[a + W.row] += stop > 0
            return acted(M, t)
    push(M, blocks, t, beat)
    M[a + W.begun] = 0
    M[a + W.row] = 0
    return acted(M, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    blocks, y = M[a + R.blocks], M[a + R.y]
    wait = can_pass(M, blocks, y, t)
    if wait != READY:
        return wait
    block = head(M, blocks)
    last = kind_of(block) != VALUE or M[a + R.column] == M[a + R.columns] - 1
    push(M, y, t, block if last else make_beat(VALUE, 0, 0, 0))
    M[a + R.column] = 0 if last else M[a + R.column] + 1
    if last:
        pop(M, blocks, t)
    return acted(M, t)


def build(unit: Unit, params: TurnSlices, layout: DesignLayout) -> None:
    """Two actors, joined by a queue of complete blocks."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    (inside,) = params.queues(unit, layout.design)
    blocks = layout.internal(f"{unit.name}.{inside.name}", inside.depth, inside.latency)
    own = packed(W, x=x, blocks=blocks, lanes=layout.design.lanes, row=0, begun=0)
    layout.actor(unit.name, "write", write, own, reads=[x], writes=[blocks])
    own = packed(R, blocks=blocks, y=y, columns=params.columns, column=0)
    layout.actor(unit.name, "read", read, own, reads=[blocks], writes=[y])
