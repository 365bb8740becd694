"""Cycle model of eager_merge: inputs take turns; the next chunk is chosen while one moves."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.eager_merge.params import EagerMerge
from stepgen.ir.wire import DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import (
    ANY,
    EMPTY_INPUT,
    FULL_OUTPUT,
    READY,
    REASON,
    Memory,
    acted,
    head,
    helper,
    kind_of,
    make_beat,
    note,
    packed,
    pop,
    push,
    ready,
    record,
    room,
    step,
    stop_of,
)

P = record("y", "names", "level", "notes", "one_hot", "current", "next", "last", "producers", "x")
# `current` is the input whose chunk moves, `next` the one that was chosen to follow, `last` the one
# that was chosen last.
NOTHING = -1


@helper
def waiting(M: Memory, a: int, t: int, n: int) -> bool:
    """Whether a chunk is at the head of input `n`."""
    x = M[a + P.x + n]
    return ready(M, x, t) == READY and kind_of(head(M, x)) != DONE


@helper
def in_turn(M: Memory, a: int, t: int) -> int:
    """The input with a chunk that comes next after the last one, apart from the current one."""
    producers = M[a + P.producers]
    for k in range(producers):
        n = (M[a + P.last] + 1 + k) % producers
        if n != M[a + P.current] and waiting(M, a, t, n):
            return n
    return NOTHING


@helper
def ended(M: Memory, a: int, t: int) -> bool:
    """Whether all inputs have ended."""
    for n in range(M[a + P.producers]):
        x = M[a + P.x + n]
        if ready(M, x, t) != READY or kind_of(head(M, x)) != DONE:
            return False
    return True


@helper
def look_again(M: Memory, a: int, t: int, reason: int) -> int:
    """When to look again: at once where a beat or a slot is on its way."""
    later = False
    for n in range(M[a + P.producers]):
        later |= ready(M, M[a + P.x + n], t) > 0
    for c in (M[a + P.y], M[a + P.names]):
        later |= room(M, c, t) > 0
    M[REASON] = reason
    return t + 1 if later else ANY


@step
def merge(M: Memory, a: int, t: int) -> int:
    y, names, level, current = M[a + P.y], M[a + P.names], M[a + P.level], M[a + P.current]
    has_room, may_name = room(M, y, t) == READY, room(M, names, t) == READY
    chosen, full = NOTHING, False
    if M[a + P.next] == NOTHING:
        chosen = in_turn(M, a, t)
        if chosen != NOTHING and not may_name:
            chosen, full = NOTHING, current == NOTHING
    if chosen != NOTHING:
        M[a + P.last] = chosen
        note(M, M[a + P.notes] + chosen, t)
        producers = M[a + P.producers]
        mask = M[a + P.one_hot] + chosen * producers if producers > 1 else 1
        push(M, names, t, make_beat(VALUE, 0, 0, mask))
        if current == NOTHING:
            current = chosen
        else:
            M[a + P.next] = chosen
    moves, closes = False, False
    if current != NOTHING and waiting(M, a, t, current):
        moves, full = has_room, not has_room
        if moves:
            beat = pop(M, M[a + P.x + current], t)
            push(M, y, t, beat)
            closes = stop_of(beat) >= level
    M[a + P.current] = current
    if closes:
        # What was chosen in this cycle for an idle unit was the chunk that has moved.
        M[a + P.current], M[a + P.next] = M[a + P.next], NOTHING
    if moves or chosen != NOTHING:
        return acted(M, t)
    if current == NOTHING and ended(M, a, t):
        if has_room and may_name:
            beat = make_beat(DONE, 0, 0, 0)
            for n in range(M[a + P.producers]):
                pop(M, M[a + P.x + n], t)
            push(M, y, t, beat)
            push(M, names, t, beat)
            M[a + P.last] = NOTHING
            return acted(M, t)
        full = True
    return look_again(M, a, t, FULL_OUTPUT if full else EMPTY_INPUT)


def build(unit: Unit, params: EagerMerge, layout: DesignLayout) -> None:
    """One actor for all inputs, which notes what it chooses."""
    xs = [layout.channel(unit.inputs[port]) for port in params.inputs]
    y, names = layout.channel(unit.outputs["y"]), layout.channel(unit.outputs["names"])
    count = params.producers
    notes = [layout.note(unit.name, n) for n in range(count)]
    own = packed(
        P,
        y=y,
        names=names,
        level=params.level,
        notes=notes[0],
        one_hot=layout.reserve([int(i == j) for i in range(count) for j in range(count)]),
        current=NOTHING,
        next=NOTHING,
        last=NOTHING,
        producers=count,
        x=xs,
    )
    layout.actor(unit.name, "merge", merge, own, reads=xs, writes=[y, names])
