"""Cycle model of retile_col: written tile by tile, read row by row."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.retile_col.params import RetileCol
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `tile` is the number of the tile in its chunk, `begun` whether the chunk has its buffer
W = record("x", "rows", "buffers", "level", "count", "tile", "begun")
# `position` is the number of the beat in its row
R = record("rows", "buffers", "y", "row_beats", "position")


@step
def write(M: Memory, a: int, t: int) -> int:
    x, rows, buffers = M[a + W.x], M[a + W.rows], M[a + W.buffers]
    lowered = M[a + W.level] - TILE_LEVELS
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    group = kind == DONE or (kind == BARE and low > TILE_LEVELS)
    if not group and not M[a + W.begun]:
        wait = room(M, buffers, t)
        if wait != READY:
            return wait
    last_tile = M[a + W.tile] == M[a + W.count] - 1
    if group or (stop >= 1 and last_tile):
        wait = room(M, rows, t)
        if wait != READY:
            return wait
        if stop >= TILE_LEVELS:
            stop -= lowered
        if low > TILE_LEVELS:
            low -= lowered
        push(M, rows, t, make_beat(kind, stop, low, 0))
    if not group:
        if not M[a + W.begun]:
            push(M, buffers, t, 0)
        M[a + W.begun] = 1
        if stop_of(beat) >= TILE_LEVELS:
            M[a + W.tile] = 0 if last_tile else M[a + W.tile] + 1
            M[a + W.begun] = 0 if last_tile else 1
    pop(M, x, t)
    return acted(M, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    rows, y = M[a + R.rows], M[a + R.y]
    wait = can_pass(M, rows, y, t)
    if wait != READY:
        return wait
    row = head(M, rows)
    kind, low = kind_of(row), low_of(row)
    if kind == VALUE and M[a + R.position] < M[a + R.row_beats] - 1:
        push(M, y, t, make_beat(VALUE, 0, 0, 0))
        M[a + R.position] += 1
        return acted(M, t)
    push(M, y, t, row)
    M[a + R.position] = 0
    if stop_of(row) >= TILE_LEVELS and (kind == VALUE or (kind == BARE and low == TILE_LEVELS)):
        pop(M, M[a + R.buffers], t)
    pop(M, rows, t)
    return acted(M, t)


def build(unit: Unit, params: RetileCol, layout: DesignLayout) -> None:
    """Two actors, joined by queues of complete rows and of buffers in use."""
    name = unit.name
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    (inside,) = params.queues(unit, layout.design)
    rows = layout.internal(f"{name}.{inside.name}", inside.depth, inside.latency)
    buffers = layout.internal(f"{name}.buffers", params.buffers)
    own = packed(
        W,
        x=x,
        rows=rows,
        buffers=buffers,
        level=params.level,
        count=params.count,
        tile=0,
        begun=0,
    )
    layout.actor(name, "write", write, own, reads=[x], writes=[rows, buffers])
    own = packed(R, rows=rows, buffers=buffers, y=y, row_beats=params.row_beats, position=0)
    layout.actor(name, "read", read, own, reads=[rows, buffers], writes=[y])
