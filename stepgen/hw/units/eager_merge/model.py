"""Cycle model of eager_merge: inputs take turns; the next chunk is chosen while one moves."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.eager_merge.params import EagerMerge
from stepgen.ir.wire import DONE, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, FULL_OUTPUT, REASON, note

P = record(
    "y", "names", "level", "notes", "one_hot", "current", "named", "next", "last", "producers", "x"
)
# `current` is the input whose chunk moves, or the last one that did, `named` whether its selector
# has left, `next` the input that was chosen to follow, `last` the one that was chosen last.
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


@helper
def name(M: Memory, a: int, t: int, n: int) -> None:
    """Send the selector of input `n`."""
    note(M, M[a + P.notes] + n, t)
    producers = M[a + P.producers]
    mask = M[a + P.one_hot] + n * producers if producers > 1 else 1
    push(M, M[a + P.names], t, make_beat(VALUE, 0, 0, mask))


@step
def merge(M: Memory, a: int, t: int) -> int:
    y, names, level, current = M[a + P.y], M[a + P.names], M[a + P.level], M[a + P.current]
    has_room, may_name = room(M, y, t) == READY, room(M, names, t) == READY
    present, named, following = waiting(M, a, t, current), M[a + P.named], M[a + P.next]
    turn = in_turn(M, a, t) if following == NOTHING else NOTHING
    names_next = named and turn != NOTHING and may_name
    names_current = present and not named and may_name
    if names_next:
        name(M, a, t, turn)
    if names_current:
        name(M, a, t, current)
    moves = present and has_room and (named or may_name)
    closes = False
    if moves:
        beat = pop(M, M[a + P.x + current], t)
        push(M, y, t, beat)
        closes = stop_of(beat) >= level
    switches = False
    if closes or not (named or present):
        switches = following != NOTHING or turn != NOTHING
        if switches:
            M[a + P.current] = following if following != NOTHING else turn
        if turn != NOTHING:
            M[a + P.last] = turn
        M[a + P.named], M[a + P.next] = following != NOTHING or names_next, NOTHING
    else:
        M[a + P.named] = named or names_current
        if names_next:
            M[a + P.next] = M[a + P.last] = turn
    if moves or names_next or names_current or switches:
        return acted(M, t)
    if ended(M, a, t):
        if has_room and may_name:
            beat = make_beat(DONE, 0, 0, 0)
            for n in range(M[a + P.producers]):
                pop(M, M[a + P.x + n], t)
            push(M, y, t, beat)
            push(M, names, t, beat)
            M[a + P.current], M[a + P.last] = 0, NOTHING
            return acted(M, t)
        return look_again(M, a, t, FULL_OUTPUT)
    return look_again(M, a, t, FULL_OUTPUT if present else EMPTY_INPUT)


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
        current=0,
        named=0,
        next=NOTHING,
        last=NOTHING,
        producers=count,
        x=xs,
    )
    layout.actor(unit.name, "merge", merge, own, reads=xs, writes=[y, names])
