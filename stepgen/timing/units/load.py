"""Timing of a load: what triggers it, its bursts, its words and its beats."""

from __future__ import annotations

from ...compile.design import Unit
from ...compile.units.axi import burst
from ...compile.units.load import REQUESTS, longest_burst, pass_level, walk
from ...ir.wire import BARE, DONE, VALUE
from ..kernel import (
    ANY,
    NEVER,
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
    room_for,
    step,
    stop_of,
)
from ..laid_out import LaidOut

NONE = 0

REF, GO, CLOSES, LEVEL, INSIDE = range(OWN, OWN + 5)


@step
def watch(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + REF], t)
    if wait != READY:
        return wait
    beat = head(M, M[a + REF])
    kind, level = kind_of(beat), M[a + LEVEL]
    part = kind == VALUE or (kind == BARE and low_of(beat) <= level)
    first = part and not M[a + INSIDE]
    last = not part or stop_of(beat) >= level
    if first:
        wait = room(M, M[a + GO], t)
        if wait != READY:
            return wait
    if last:
        wait = room(M, M[a + CLOSES], t)
        if wait != READY:
            return wait
    pop(M, M[a + REF], t)
    if first:
        push(M, M[a + GO], t, 0)
    if last:
        closes = make_beat(VALUE if part else kind, stop_of(beat), low_of(beat), 0)
        push(M, M[a + CLOSES], t, closes)
    M[a + INSIDE] = not last
    return acted(M, t)


GONE, BURSTS, BASE, WORDS, BURST, START, ADDRESS, LEFT, LOOPS, LOOP = range(OWN + 1, OWN + 11)
GO_IN = OWN
EXTENT, JUMP, COUNT, LOOP_SIZE = range(4)


@step
def go_through(M, a, t):  # type: ignore[no-untyped-def]
    go = M[a + GO_IN]
    if go != NONE:
        wait = ready(M, go, t)
        if wait != READY:
            return wait
    elif M[a + GONE]:
        return NEVER
    wait = room(M, M[a + BURSTS], t)
    if wait != READY:
        return wait
    length = min(M[a + BURST] - M[a + ADDRESS] % M[a + BURST], M[a + LEFT])
    push(M, M[a + BURSTS], t, length)
    M[a + ADDRESS] += length
    M[a + LEFT] -= length
    if M[a + LEFT]:
        return acted(M, t)
    start, ended = M[a + BASE], True
    for n in range(M[a + LOOPS]):
        loop = a + LOOP + LOOP_SIZE * n
        M[loop + COUNT] += 1
        if M[loop + COUNT] < M[loop + EXTENT]:
            start, ended = M[a + START] + M[loop + JUMP], False
            break
        M[loop + COUNT] = 0
    M[a + START], M[a + ADDRESS], M[a + LEFT] = start, start, M[a + WORDS]
    if ended:
        M[a + GONE] = True
        if go != NONE:
            pop(M, go, t)
    return acted(M, t)


PENDING, REQ, ROOM, ASKED, LONGEST = range(OWN, OWN + 5)


@step
def grant(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + PENDING], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + REQ], t)
    if wait != READY:
        return wait
    wait = room_for(M, M[a + ROOM], M[a + ASKED] + M[a + LONGEST], t - 1)  # known a cycle late
    if wait != READY:
        return max(wait, t + 1) if wait > 0 else wait
    M[a + ASKED] += head(M, M[a + PENDING])
    push(M, M[a + REQ], t, pop(M, M[a + PENDING], t))
    return acted(M, t)


DATA, OUT, DUE, PASS_LEVEL, REF_LEVEL, BEGUN, ENDED = range(OWN, OWN + 7)
PROMPT, OWED = range(OWN + 7, OWN + 9)
BEATS, GATHERED, PART, DIMS, DIM = range(OWN + 9, OWN + 14)
DIM_EXTENT, DIM_COUNT, DIM_SIZE = range(3)


@step
def emit(M, a, t):  # type: ignore[no-untyped-def]
    data, out, due = M[a + DATA], M[a + OUT], M[a + DUE]
    if M[a + ENDED]:
        wait = room(M, out, t)
        if wait != READY:
            return wait
        push(M, out, t, make_beat(DONE, 0, 0, 0))
        M[a + ENDED] = False
        return acted(M, t)
    if M[a + OWED]:
        wait = ready(M, due, t)
        if wait != READY:
            return wait
        pop(M, due, t)
        M[a + OWED] = False
        return acted(M, t)
    seen = ready(M, data, t)
    if due != NONE and not M[a + BEGUN]:
        known = ready(M, due, t)
        if known == READY and kind_of(head(M, due)) != VALUE:
            wait = room(M, out, t)
            if wait != READY:
                return wait
            beat = pop(M, due, t)
            if kind_of(beat) == BARE:
                raised = M[a + PASS_LEVEL] - M[a + REF_LEVEL]
                beat = make_beat(BARE, stop_of(beat) + raised, low_of(beat) + raised, 0)
            push(M, out, t, beat)
            return acted(M, t)
        if seen != READY:
            return ANY if seen < 0 and known <= 0 else t + 1
    if seen != READY:
        return seen
    if M[a + PART] + 1 < M[a + GATHERED]:
        pop(M, data, t)
        M[a + PART] += 1
        M[a + BEGUN] = True
        return acted(M, t)

    stop = 0
    while stop < M[a + DIMS]:
        dim = a + DIM + DIM_SIZE * stop
        if M[dim + DIM_COUNT] + 1 < M[dim + DIM_EXTENT]:
            break
        stop += 1
    last = stop == M[a + DIMS]
    if last:
        stop = M[a + PASS_LEVEL]
        if due != NONE and not M[a + PROMPT]:
            wait = ready(M, due, t)
            if wait != READY:
                return wait
            stop += stop_of(head(M, due)) - M[a + REF_LEVEL]
    wait = room(M, out, t)
    if wait != READY:
        return wait
    push(M, out, t, make_beat(VALUE, stop, 0, 0))
    for n in range(M[a + DIMS]):
        dim = a + DIM + DIM_SIZE * n
        M[dim + DIM_COUNT] += 1
        if M[dim + DIM_COUNT] < M[dim + DIM_EXTENT]:
            break
        M[dim + DIM_COUNT] = 0
    M[a + PART] += 1
    if M[a + GATHERED] > 1 or M[a + PART] == M[a + BEATS]:
        pop(M, data, t)
        M[a + PART] = 0
    M[a + BEGUN] = not last
    if last:
        if due == NONE:
            M[a + ENDED] = True
        elif ready(M, due, t) == READY:
            pop(M, due, t)
        else:
            M[a + OWED] = True
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """Up to four actors, joined by internal queues."""
    params, bus = unit.params, machine.design.bus
    data = machine.channel(unit.inputs[-1])
    out, req = (machine.channel(name) for name in unit.outputs)
    bursts = machine.internal(f"{unit.name}.bursts", REQUESTS)
    go = closes = NONE
    if params["ref_level"] is not None:
        ref = machine.channel(unit.inputs[0])
        go = machine.internal(f"{unit.name}.go", params["ahead"])
        closes = machine.internal(f"{unit.name}.closes", params["ahead"])
        machine.actor(
            unit.name,
            "watch",
            watch,
            [ref, go, closes, params["ref_level"], False],
            reads=[ref],
            writes=[go, closes],
        )

    path = walk(params, bus)
    depth = machine.design.channel[unit.inputs[-1]].depth
    loops = [
        word
        for extent, jump in zip(path.extents, path.jumps, strict=True)
        for word in (extent, jump, 0)
    ]
    machine.actor(
        unit.name,
        "walk",
        go_through,
        [
            *(go, False, bursts, path.base, path.words, burst(bus, depth)),
            *(path.base, path.base, path.words, len(path.extents), *loops),
        ],
        reads=[go] if go else [],
        writes=[bursts],
    )
    machine.actor(
        unit.name,
        "grant",
        grant,
        [bursts, req, data, 0, longest_burst(params, bus, depth)],
        reads=[bursts],
        writes=[req, data],
    )

    channel = machine.design.channel[unit.outputs[0]]
    beat_bits, word_bits = channel.lanes * channel.bits, bus.data_bits
    extents = [params["slices"], params["rows"], *reversed(params["shape"])]
    machine.actor(
        unit.name,
        "emit",
        emit,
        [
            *(data, out, closes, pass_level(params), params["ref_level"] or 0, False, False),
            *(params["prompt"], False),
            *(max(1, word_bits // beat_bits), max(1, beat_bits // word_bits), 0),
            *(len(extents), *(word for extent in extents for word in (extent, 0))),
        ],
        reads=[data, *([closes] if closes else [])],
        writes=[out],
    )
