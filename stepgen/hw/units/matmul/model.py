"""Cycle model of the matrix unit: one actor loads weight tiles, the other computes."""

from __future__ import annotations

from ....ir.wire import TILE_LEVELS, VALUE
from ....timing.design_layout import DesignLayout
from ....timing.kernel import (
    READY,
    Memory,
    acted,
    head,
    kind_of,
    make_beat,
    packed,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)
from ...design.table import Unit
from .params import Matmul

# `left`: beats still missing of the tile's `beats`
L = record("w", "tiles", "beats", "left")
# `turn`: cycles of a slice of x before the row's last, at least `n_slices`
C = record("x", "tiles", "y", "k_slices", "n_slices", "turn", "k_slice", "n_slice")


@step
def load(M: Memory, a: int, t: int) -> int:
    w, tiles = M[a + L.w], M[a + L.tiles]
    wait = ready(M, w, t)
    if wait != READY:
        return wait
    if M[a + L.left] == M[a + L.beats]:
        wait = room(M, tiles, t)
        if wait != READY:
            return wait
    beat = pop(M, w, t)
    if kind_of(beat) == VALUE:
        M[a + L.left] -= 1
        if M[a + L.left]:
            return acted(M, t)
        M[a + L.left] = M[a + L.beats]
    push(M, tiles, t, beat)
    return acted(M, t)


@step
def compute(M: Memory, a: int, t: int) -> int:
    x, tiles, y = M[a + C.x], M[a + C.tiles], M[a + C.y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = ready(M, tiles, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    last_k = M[a + C.k_slice] == M[a + C.k_slices] - 1
    final = M[a + (C.n_slices if last_k else C.turn)] - 1
    last_n = M[a + C.n_slice] == final
    if kind != VALUE or last_k:
        wait = room(M, y, t)
        if wait != READY:
            return wait
    if kind != VALUE:
        push(M, y, t, pop(M, x, t))
        pop(M, tiles, t)
        return acted(M, t)
    if last_k:
        push(M, y, t, make_beat(VALUE, stop if last_n else 0, 0, 0))
    elif not last_n:
        # The cycles up to the slice's last can't stall.
        ahead = final - M[a + C.n_slice]
        M[a + C.n_slice] += ahead
        return acted(M, t + ahead - 1)
    if not last_n:
        M[a + C.n_slice] += 1
        return acted(M, t)
    pop(M, x, t)
    M[a + C.n_slice] = 0
    M[a + C.k_slice] = 0 if last_k else M[a + C.k_slice] + 1
    if last_k and stop >= TILE_LEVELS:
        pop(M, tiles, t)
    return acted(M, t)


def build(unit: Unit, params: Matmul, layout: DesignLayout) -> None:
    """Two actors, joined by a channel of complete tiles."""
    x, w = layout.channel(unit.inputs["x"]), layout.channel(unit.inputs["w"])
    y = layout.channel(unit.outputs["y"])
    (inside,) = params.queues(unit, layout.design)
    tiles = layout.internal(f"{unit.name}.{inside.name}", inside.depth, inside.latency)
    lanes = layout.design.lanes
    k_slices, n_slices = params.slices(lanes)
    beats = k_slices * n_slices * lanes
    turn = params.turn(lanes)
    layout.horizon = max(layout.horizon, turn + 2)
    own = packed(L, w=w, tiles=tiles, beats=beats, left=beats)
    layout.actor(unit.name, "load", load, own, reads=[w], writes=[tiles])
    own = packed(
        C,
        x=x,
        tiles=tiles,
        y=y,
        k_slices=k_slices,
        n_slices=n_slices,
        turn=turn,
        k_slice=0,
        n_slice=0,
    )
    layout.actor(unit.name, "compute", compute, own, reads=[x, tiles], writes=[y])
