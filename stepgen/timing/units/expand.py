"""Timing of expand: a ring of memory that is read several times, the first time as it fills."""

from __future__ import annotations

from ...compile.design import Unit
from ...compile.units import expand as facts
from ...ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ..kernel import (
    NEVER,
    OWN,
    POPPED,
    READY,
    acted,
    aux_of,
    beat_at,
    head,
    kind_of,
    low_of,
    make_beat,
    pop,
    push,
    ready,
    ready_at,
    room,
    step,
    stop_of,
)
from ..laid_out import LaidOut

# The actor that writes
IN, RING, ENDS = range(OWN, OWN + 3)
# The actor that reads: position in the tile, passes before this one
R_RING, R_ENDS, OUT, REF, COUNT, RANK, POSITION, PASSES = range(OWN, OWN + 8)
# The actor that reduces a reference to its elements
REF_IN, ELEMENTS, REF_BASE = range(OWN, OWN + 3)

LAST = -1
"""`PASSES` in the last pass over a tile."""


@step
def write(M, a, t):  # type: ignore[no-untyped-def]
    x, ring, ends = M[a + IN], M[a + RING], M[a + ENDS]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = room(M, ring, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) != VALUE or stop_of(beat) >= TILE_LEVELS:
        wait = room(M, ends, t)
        if wait != READY:
            return wait
        push(M, ends, t, beat)
    push(M, ring, t, pop(M, x, t))
    return acted(M, t)


@step
def advance(M, a, t):  # type: ignore[no-untyped-def]
    """Read the beat at the position; `PASSES` is `LAST` in a tile's last pass."""
    ring = M[a + R_RING]
    beat = beat_at(M, ring, M[ring + POPPED] + M[a + POSITION])
    closing = kind_of(beat) != VALUE or stop_of(beat) >= TILE_LEVELS
    if M[a + PASSES] == LAST:
        pop(M, ring, t)
        if closing:
            pop(M, M[a + R_ENDS], t)
            M[a + PASSES] = 0
    elif closing:
        M[a + POSITION] = 0
        M[a + PASSES] += 1
    else:
        M[a + POSITION] += 1
    return acted(M, t)


@step
def repeat(M, a, t):  # type: ignore[no-untyped-def]
    ring, y = M[a + R_RING], M[a + OUT]
    wait = ready_at(M, ring, M[ring + POPPED] + M[a + POSITION], t)
    if wait != READY:
        return wait
    wait = room(M, y, t)
    if wait != READY:
        return wait
    beat = beat_at(M, ring, M[ring + POPPED] + M[a + POSITION])
    kind, stop = kind_of(beat), stop_of(beat)
    outer = kind == DONE or (kind == BARE and low_of(beat) > TILE_LEVELS)
    if outer or M[a + PASSES] == M[a + COUNT] - 1:
        M[a + PASSES] = LAST
    if M[a + PASSES] != LAST:
        stop = min(stop, TILE_LEVELS)
    push(M, y, t, make_beat(kind, stop, low_of(beat), aux_of(beat)))
    return advance(M, a, t)


@step
def follow(M, a, t):  # type: ignore[no-untyped-def]
    ring, y, ref, rank = M[a + R_RING], M[a + OUT], M[a + REF], M[a + RANK]
    wait = ready(M, ref, t)
    if wait != READY:
        return wait
    element = head(M, ref)
    stop, low = stop_of(element), low_of(element)
    hole = kind_of(element) == BARE and low <= rank
    hole_beat = make_beat(BARE, stop + TILE_LEVELS, low + TILE_LEVELS, 0)
    if hole and stop < rank:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, hole_beat)
        pop(M, ref, t)
        return acted(M, t)

    wait = ready_at(M, ring, M[ring + POPPED] + M[a + POSITION], t)
    if wait != READY:
        return wait
    beat = beat_at(M, ring, M[ring + POPPED] + M[a + POSITION])
    kind = kind_of(beat)
    outer = kind == DONE or (kind == BARE and low_of(beat) > TILE_LEVELS)
    closing = kind != VALUE or stop_of(beat) >= TILE_LEVELS
    if outer and (hole or kind != kind_of(element)):
        return NEVER
    if not outer and not hole and kind_of(element) != VALUE:
        return NEVER
    if not hole or closing:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        if hole:
            push(M, y, t, hole_beat)
        elif closing and kind != DONE:
            push(M, y, t, make_beat(kind, stop + TILE_LEVELS, low_of(beat), aux_of(beat)))
        else:
            push(M, y, t, beat)
    if closing:
        pop(M, ref, t)
    if outer or stop >= rank:
        M[a + PASSES] = LAST
    return advance(M, a, t)


@step
def reduce(M, a, t):  # type: ignore[no-untyped-def]
    x, elements, base = M[a + REF_IN], M[a + ELEMENTS], M[a + REF_BASE]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind != VALUE or stop >= base:
        wait = room(M, elements, t)
        if wait != READY:
            return wait
        if kind == BARE and low <= base:
            kind = VALUE
        if kind == BARE:
            beat = make_beat(BARE, stop - base, low - base, 0)
        elif kind == VALUE:
            beat = make_beat(VALUE, stop - base, 0, 0)
        push(M, elements, t, beat)
    pop(M, x, t)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Two actors joined by the ring, and one that reduces a reference of tiles."""
    params, name = unit.params, unit.name
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    channels = machine.design.channel
    announced = facts.ends(params, channels[unit.inputs[0]].rank or 0)
    ring = machine.internal(f"{name}.ring", params["capacity"])
    ends = machine.internal(f"{name}.ends", announced.depth, announced.latency)
    machine.actor(name, "write", write, [x, ring, ends], reads=[x], writes=[ring, ends])
    reads = [ring, ends]
    if len(unit.inputs) > 1:
        ref = machine.channel(unit.inputs[1])
        if params["ref_base"]:
            inside = facts.elements(params, channels[unit.inputs[1]].rank or 0)
            elements = machine.internal(f"{name}.elements", inside.depth, inside.latency)
            own = [ref, elements, params["ref_base"]]
            machine.actor(name, "reference", reduce, own, reads=[ref], writes=[elements])
            ref = elements
        reads.append(ref)
        own = [ring, ends, y, ref, 0, params["level"] - TILE_LEVELS, 0, 0]
        machine.actor(name, "read", follow, own, reads=reads, writes=[y])
    else:
        own = [ring, ends, y, 0, params["count"], 0, 0, 0]
        machine.actor(name, "read", repeat, own, reads=reads, writes=[y])
