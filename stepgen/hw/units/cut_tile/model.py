"""Cycle model of cut_tile: written row by row, read part by part."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.cut_tile.params import CutTile
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *

# `row` is the number of complete rows, `begun` whether the tile has its buffer
W = record("x", "tiles", "row", "begun")
R = record("tiles", "y", "parts", "slices", "slice", "row", "part")


@step
def write(M: Memory, a: int, t: int) -> int:
    x, tiles = M[a + W.x], M[a + W.tiles]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    if not M[a + W.begun]:
        wait = room(M, tiles, t)
        if wait != READY:
            return wait
    beat = pop(M, x, t)
    if kind_of(beat) == VALUE and stop_of(beat) < TILE_LEVELS:
        M[a + W.begun] = 1
        M[a + W.row] += stop_of(beat) > 0
        return acted(M, t)
    if kind_of(beat) == VALUE:
        beat = make_beat(VALUE, stop_of(beat), 0, M[a + W.row])
    push(M, tiles, t, beat)
    M[a + W.begun] = 0
    M[a + W.row] = 0
    return acted(M, t)


@step
def read(M: Memory, a: int, t: int) -> int:
    tiles, y = M[a + R.tiles], M[a + R.y]
    wait = can_pass(M, tiles, y, t)
    if wait != READY:
        return wait
    tile = head(M, tiles)
    kind, stop, low = kind_of(tile), stop_of(tile), low_of(tile)
    empty = kind == BARE and low == TILE_LEVELS
    if kind != VALUE and not empty:
        pop(M, tiles, t)
        push(M, y, t, make_beat(BARE, stop + 1, low + 1, 0) if kind == BARE else tile)
        return acted(M, t)
    last_row = empty or M[a + R.row] == aux_of(tile)
    ends_row = empty or M[a + R.slice] == M[a + R.slices] - 1
    ends_part = last_row and ends_row
    last = ends_part and M[a + R.part] == M[a + R.parts] - 1
    out = int(ends_row)
    if ends_part:
        out = stop + 1 if last else TILE_LEVELS
    push(M, y, t, make_beat(kind, out, low, 0))
    M[a + R.slice] = 0 if ends_row else M[a + R.slice] + 1
    if ends_row:
        M[a + R.row] = 0 if last_row else M[a + R.row] + 1
    if last:
        M[a + R.part] = 0
        pop(M, tiles, t)
    elif ends_part:
        M[a + R.part] += 1
    return acted(M, t)


def build(unit: Unit, params: CutTile, layout: DesignLayout) -> None:
    """Two actors, joined by a queue of complete tiles."""
    x, y = layout.channel(unit.inputs["x"]), layout.channel(unit.outputs["y"])
    (inside,) = params.queues(unit, layout.design)
    tiles = layout.internal(f"{unit.name}.{inside.name}", inside.depth, inside.latency)
    own = packed(W, x=x, tiles=tiles, row=0, begun=0)
    layout.actor(unit.name, "write", write, own, reads=[x], writes=[tiles])
    slices = params.part_slices(layout.design.lanes)
    own = packed(
        R, tiles=tiles, y=y, parts=params.parts_of_row, slices=slices, slice=0, row=0, part=0
    )
    layout.actor(unit.name, "read", read, own, reads=[tiles], writes=[y])
