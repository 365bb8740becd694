"""Timing of the matrix unit: one actor loads weight tiles, the other computes."""

from __future__ import annotations

from ...compile.design import Unit
from ...compile.units import matmul as facts
from ...ir.wire import TILE_LEVELS, VALUE
from ..kernel import (
    OWN,
    READY,
    acted,
    head,
    kind_of,
    make_beat,
    pop,
    push,
    ready,
    room,
    step,
    stop_of,
)
from ..laid_out import LaidOut

W, LOADED, BEATS, LEFT = range(OWN, OWN + 4)
X, TILES, Y, K_SLICES, N_SLICES, K_SLICE, N_SLICE = range(OWN, OWN + 7)


@step
def load(M, a, t):  # type: ignore[no-untyped-def]
    w, tiles = M[a + W], M[a + LOADED]
    wait = ready(M, w, t)
    if wait != READY:
        return wait
    if M[a + LEFT] == M[a + BEATS]:
        wait = room(M, tiles, t)
        if wait != READY:
            return wait
    beat = pop(M, w, t)
    if kind_of(beat) == VALUE:
        M[a + LEFT] -= 1
        if M[a + LEFT]:
            return acted(M, t)
        M[a + LEFT] = M[a + BEATS]
    push(M, tiles, t, beat)
    return acted(M, t)


@step
def compute(M, a, t):  # type: ignore[no-untyped-def]
    x, tiles, y = M[a + X], M[a + TILES], M[a + Y]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = ready(M, tiles, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop = kind_of(beat), stop_of(beat)
    last_k = M[a + K_SLICE] == M[a + K_SLICES] - 1
    last_n = M[a + N_SLICE] == M[a + N_SLICES] - 1
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
        # Nothing can keep the blocks up to the slice's last from following cycle by cycle.
        ahead = M[a + N_SLICES] - 1 - M[a + N_SLICE]
        M[a + N_SLICE] += ahead
        return acted(M, t + ahead - 1)
    if not last_n:
        M[a + N_SLICE] += 1
        return acted(M, t)
    pop(M, x, t)
    M[a + N_SLICE] = 0
    M[a + K_SLICE] = 0 if last_k else M[a + K_SLICE] + 1
    if last_k and stop >= TILE_LEVELS:
        pop(M, tiles, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Two actors, joined by a channel of complete tiles."""
    x, w = (machine.channel(name) for name in unit.inputs)
    y = machine.channel(unit.outputs[0])
    rank = machine.design.channel[unit.inputs[1]].rank
    assert rank is not None
    inside = facts.tiles(rank)
    tiles = machine.internal(f"{unit.name}.{inside.name}", inside.depth, inside.latency)
    lanes = machine.design.lanes
    k_slices, n_slices = facts.slices(unit.params, lanes)
    beats = k_slices * n_slices * lanes
    machine.horizon = max(machine.horizon, n_slices + 2)
    machine.actor(unit.name, "load", load, [w, tiles, beats, beats], reads=[w], writes=[tiles])
    machine.actor(
        unit.name,
        "compute",
        compute,
        [x, tiles, y, k_slices, n_slices, 0, 0],
        reads=[x, tiles],
        writes=[y],
    )
