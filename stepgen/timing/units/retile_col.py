"""Timing of retile_col: written tile by tile, read row by row."""

from __future__ import annotations

from ...compile.design import Unit
from ...compile.units import retile_col as facts
from ...ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ..kernel import (
    OWN,
    READY,
    acted,
    head,
    kind_of,
    low_of,
    make_beat,
    pop,
    push,
    ready,
    room,
    step,
    stop_of,
)
from ..laid_out import LaidOut

# The actor that writes; `TILE` is the tile of the chunk, `BEGUN` whether the chunk has its buffer
IN, ROWS, BUFFERS, LEVEL, COUNT, TILE, BEGUN = range(OWN, OWN + 7)
# The actor that reads; `POSITION` is the beat in the row
R_ROWS, R_BUFFERS, OUT, LENGTH, POSITION = range(OWN, OWN + 5)


@step
def write(M, a, t):  # type: ignore[no-untyped-def]
    x, rows, buffers = M[a + IN], M[a + ROWS], M[a + BUFFERS]
    lowered = M[a + LEVEL] - TILE_LEVELS
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    group = kind == DONE or (kind == BARE and low > TILE_LEVELS)
    if not group and not M[a + BEGUN]:
        wait = room(M, buffers, t)
        if wait != READY:
            return wait
    last_tile = M[a + TILE] == M[a + COUNT] - 1
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
        if not M[a + BEGUN]:
            push(M, buffers, t, 0)
        M[a + BEGUN] = 1
        if stop_of(beat) >= TILE_LEVELS:
            M[a + TILE] = 0 if last_tile else M[a + TILE] + 1
            M[a + BEGUN] = 0 if last_tile else 1
    pop(M, x, t)
    return acted(M, t)


@step
def read(M, a, t):  # type: ignore[no-untyped-def]
    rows, y = M[a + R_ROWS], M[a + OUT]
    wait = ready(M, rows, t)
    if wait != READY:
        return wait
    wait = room(M, y, t)
    if wait != READY:
        return wait
    row = head(M, rows)
    kind, low = kind_of(row), low_of(row)
    if kind == VALUE and M[a + POSITION] < M[a + LENGTH] - 1:
        push(M, y, t, make_beat(VALUE, 0, 0, 0))
        M[a + POSITION] += 1
        return acted(M, t)
    push(M, y, t, row)
    M[a + POSITION] = 0
    if stop_of(row) >= TILE_LEVELS and (kind == VALUE or (kind == BARE and low == TILE_LEVELS)):
        pop(M, M[a + R_BUFFERS], t)
    pop(M, rows, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Two actors, joined by the rows that are complete and the buffers in use."""
    params, name = unit.params, unit.name
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    queue = facts.queue(params, machine.design.channel[unit.outputs[0]].rank or 0)
    rows = machine.internal(f"{name}.rows", queue.depth, queue.latency)
    buffers = machine.internal(f"{name}.buffers", params["buffers"])
    own = [x, rows, buffers, params["level"], params["count"], 0, 0]
    machine.actor(name, "write", write, own, reads=[x], writes=[rows, buffers])
    own = [rows, buffers, y, facts.row_beats(params), 0]
    machine.actor(name, "read", read, own, reads=[rows, buffers], writes=[y])
