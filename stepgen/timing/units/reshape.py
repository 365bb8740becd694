"""Timing of reshape: elements are counted, short groups filled up beat by beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...compile.design import Channel, Unit
from ...ir.wire import BARE, DONE, VALUE
from ..kernel import (
    OWN,
    READY,
    acted,
    aux_of,
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

IN, OUT, FLAGS, LEVEL, CHUNK = range(OWN, OWN + 5)
ROWS, SLICES, PAD, PROMPT = range(OWN + 5, OWN + 9)
SEEN, SHORT, ROW, SLICE, INSIDE = range(OWN + 9, OWN + 14)
NONE = 0


@step
def tells(M, a, closes):  # type: ignore[no-untyped-def]
    """Whether the flag of an element goes with a beat, which `closes` the element or not."""
    if M[a + FLAGS] == NONE:
        return 0
    if M[a + PROMPT]:
        return 0 if M[a + INSIDE] else 1
    return closes


@step
def room_for_both(M, a, t):  # type: ignore[no-untyped-def]
    """Whether there is room for a beat and its flag."""
    wait = room(M, M[a + OUT], t)
    return room(M, M[a + FLAGS], t) if wait == READY else wait


@step
def pad(M, a, t):  # type: ignore[no-untyped-def]
    """One beat of padding; `SHORT` is the stop that closes the chunk."""
    level, rows = M[a + LEVEL], M[a + ROWS]
    row_ends = M[a + SLICE] == M[a + SLICES] - 1
    closes = 1 if row_ends and M[a + ROW] >= rows - 1 else 0
    flagged = tells(M, a, closes)
    wait = room_for_both(M, a, t) if flagged else room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    M[a + SLICE] = 0 if row_ends else M[a + SLICE] + 1
    M[a + INSIDE] = 1 - closes
    stop = 1 if row_ends else 0
    if closes:
        M[a + ROW] = 0
        M[a + SEEN] += 1
        stop = level
        if M[a + SEEN] == M[a + CHUNK]:
            stop = M[a + SHORT]
            M[a + SEEN], M[a + SHORT] = 0, NONE
    elif row_ends:
        M[a + ROW] += 1
    kind, low = (VALUE, 0) if rows else (BARE, level)
    push(M, M[a + OUT], t, make_beat(kind, stop, low, M[a + PAD]))
    if flagged:
        known = 0 if M[a + PROMPT] else stop - level
        push(M, M[a + FLAGS], t, make_beat(VALUE, known, 0, 1))
    return acted(M, t)


@step
def count(M, a, t):  # type: ignore[no-untyped-def]
    x, y, flags, level = M[a + IN], M[a + OUT], M[a + FLAGS], M[a + LEVEL]
    if M[a + SHORT] != NONE:
        return pad(M, a, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind == DONE and M[a + SEEN]:
        M[a + SHORT] = level + 1
        return pad(M, a, t)

    group = kind == BARE and low > level
    closes = 1 if kind != DONE and not group and stop >= level else 0
    if kind == DONE:
        flagged = 1 if flags != NONE else 0
    elif group:
        flagged = 1 if flags != NONE and not M[a + PROMPT] else 0
    else:
        flagged = tells(M, a, closes)
    wait = room_for_both(M, a, t) if flagged else room(M, y, t)
    if wait != READY:
        return wait
    pop(M, x, t)
    flag = beat
    if group:
        beat = make_beat(BARE, stop + 1, low + 1, 0)
        flag = make_beat(BARE, stop + 1 - level, low + 1 - level, 0)
    elif kind != DONE:
        M[a + INSIDE] = 1 - closes
        if closes:
            M[a + SEEN] += 1
            if M[a + SEEN] == M[a + CHUNK]:
                M[a + SEEN] = 0
                stop += 1
            else:
                if stop > level:
                    M[a + SHORT] = stop + 1
                stop = level
        beat = make_beat(kind, stop, low, aux_of(beat))
        flag = make_beat(VALUE, 0 if M[a + PROMPT] else stop - level, 0, 0)
    push(M, y, t, beat)
    if flagged:
        push(M, flags, t, flag)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor for elements and padding."""
    x, y, *flags = (machine.channel(name) for name in (*unit.inputs, *unit.outputs))
    p = unit.params
    slices = p["slices"] if p["rows"] else 1
    own = [x, y, *(flags or [NONE]), p["level"], p["chunk"], p["rows"], slices]
    own += [_padding(machine, machine.design.channel[unit.outputs[0]], p), p["prompt"]]
    own += [0, NONE, 0, 0, 0]
    machine.actor(unit.name, "count", count, own, reads=[x], writes=[y, *flags])


def _padding(machine: LaidOut, y: Channel, params: Mapping[str, Any]) -> int:
    """What units further on see of a padding element: its flag, or the address of its mask."""
    if params["level"] or y.bits != 1:
        return 0
    bit = params["pad"] & 1
    return machine.reserve([bit] * y.lanes) if y.lanes > 1 else bit
