"""Cycle model of drop: a filter, with or without a holding register."""

from __future__ import annotations

from stepgen.hw.design.table import Unit
from stepgen.hw.units.drop.params import Drop
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.kernel import *
from stepgen.timing.kernel import EMPTY_INPUT, REASON, WORKING

P = record("x", "flags", "y", "held", "skip", "hold")
NOTHING = -1


@helper
def is_group(beat: int) -> bool:
    """Whether the beat of x is an empty group of elements, which has no flag."""
    return kind_of(beat) == BARE and low_of(beat) > TILE_LEVELS


@helper
def matched(M: Memory, a: int, t: int) -> int:
    """`READY` if the head of x and its flag are valid."""
    x, flags = M[a + P.x], M[a + P.flags]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if is_group(beat):
        return READY
    wait = t + 1 if M[a + P.skip] else ready(M, flags, t)
    if wait != READY:
        M[REASON] = EMPTY_INPUT
        return wait
    if (kind_of(beat) == DONE) != (kind_of(head(M, flags)) == DONE):
        M[REASON] = EMPTY_INPUT
        return NEVER
    return READY


@helper
def dropped(M: Memory, a: int, beat: int) -> bool:
    """Whether the beat of x belongs to a flagged element."""
    if kind_of(beat) == DONE or is_group(beat):
        return False
    return aux_of(head(M, M[a + P.flags])) != 0


@helper
def take(M: Memory, a: int, t: int) -> None:
    """Pop a beat of x, and with an element's last beat its flag."""
    beat = pop(M, M[a + P.x], t)
    if not is_group(beat) and (kind_of(beat) != VALUE or stop_of(beat) >= TILE_LEVELS):
        pop(M, M[a + P.flags], t)


@helper
def flow(M: Memory, a: int, t: int) -> int:
    """Pass or drop a beat at once."""
    wait = matched(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, M[a + P.x])
    if not dropped(M, a, beat):
        wait = room(M, M[a + P.y], t)
        if wait != READY:
            return wait
        push(M, M[a + P.y], t, beat)
    take(M, a, t)
    return acted(M, t)


@helper
def hold(M: Memory, a: int, t: int) -> int:
    """The same; the last beat of an element leaves once the next beat is known."""
    y, held = M[a + P.y], M[a + P.held]
    waiting = held != NOTHING and kind_of(held) != DONE and stop_of(held) == TILE_LEVELS
    left = held != NOTHING and not waiting
    if left:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
        M[a + P.held] = NOTHING
    wait = matched(M, a, t)
    if wait != READY:
        return acted(M, t) if left else wait
    beat = head(M, M[a + P.x])
    ends_group = stop_of(beat) > TILE_LEVELS
    drops = dropped(M, a, beat)
    emptied = drops and ends_group and not waiting
    absorbed = drops and not emptied
    if waiting and not absorbed:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
    take(M, a, t)
    if emptied:
        M[a + P.held] = make_beat(BARE, stop_of(beat), TILE_LEVELS + 1, 0)
    elif not absorbed:
        M[a + P.held] = beat
    elif ends_group:
        M[a + P.held] = make_beat(kind_of(held), stop_of(beat), low_of(held), aux_of(held))
    return acted(M, t)


@step
def filtered(M: Memory, a: int, t: int) -> int:
    """Skip an empty flag regardless of x: x may wait for a flag behind it."""
    flags = M[a + P.flags]
    M[a + P.skip] = ready(M, flags, t) == READY and kind_of(head(M, flags)) == BARE
    if M[a + P.skip]:
        pop(M, flags, t)
    M[REASON] = WORKING
    then = hold(M, a, t) if M[a + P.hold] else flow(M, a, t)
    why = M[REASON]
    if why == WORKING or M[a + P.skip]:
        return acted(M, t)
    if ready(M, flags, t) != READY and then != NEVER:
        then = t + 1 if then > 0 or ready(M, flags, t) > 0 else ANY
    M[REASON] = why
    return then


def build(unit: Unit, params: Drop, layout: DesignLayout) -> None:
    """One actor, with a holding register where the parameters require it."""
    x, flags = (layout.channel(name) for name in unit.inputs.values())
    y = layout.channel(unit.outputs["y"])
    own = packed(P, x=x, flags=flags, y=y, held=NOTHING, skip=0, hold=int(params.hold))
    layout.actor(unit.name, "filter", filtered, own, reads=[x, flags], writes=[y])
