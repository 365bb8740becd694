"""Timing of drop: a filter, with or without a beat held back."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ..kernel import (
    ANY,
    EMPTY_INPUT,
    NEVER,
    OWN,
    READY,
    REASON,
    WORKING,
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

IN, FLAGS, OUT, HELD, SKIPPED, RULE = range(OWN, OWN + 6)
NOTHING = -1


@step
def matched(M, a, t):  # type: ignore[no-untyped-def]
    """`READY` if the head of x is there together with its flag."""
    x, flags = M[a + IN], M[a + FLAGS]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    if kind_of(beat) == BARE and low_of(beat) > TILE_LEVELS:
        return READY
    wait = t + 1 if M[a + SKIPPED] else ready(M, flags, t)
    if wait != READY:
        M[REASON] = EMPTY_INPUT
        return wait
    if (kind_of(beat) == DONE) != (kind_of(head(M, flags)) == DONE):
        M[REASON] = EMPTY_INPUT
        return NEVER
    return READY


@step
def dropped(M, a, beat):  # type: ignore[no-untyped-def]
    """Whether the beat of x belongs to a flagged element."""
    if kind_of(beat) == DONE or (kind_of(beat) == BARE and low_of(beat) > TILE_LEVELS):
        return 0
    return aux_of(head(M, M[a + FLAGS]))


@step
def take(M, a, t):  # type: ignore[no-untyped-def]
    """Pop a beat of x, and with an element's last beat its flag."""
    beat = pop(M, M[a + IN], t)
    kind = kind_of(beat)
    if kind == BARE and low_of(beat) > TILE_LEVELS:
        return beat
    if kind != VALUE or stop_of(beat) >= TILE_LEVELS:
        pop(M, M[a + FLAGS], t)
    return beat


@step
def flow(M, a, t):  # type: ignore[no-untyped-def]
    wait = matched(M, a, t)
    if wait != READY:
        return wait
    beat = head(M, M[a + IN])
    if not dropped(M, a, beat):
        wait = room(M, M[a + OUT], t)
        if wait != READY:
            return wait
        push(M, M[a + OUT], t, beat)
    take(M, a, t)
    return acted(M, t)


@step
def hold(M, a, t):  # type: ignore[no-untyped-def]
    y, held = M[a + OUT], M[a + HELD]
    waiting = held != NOTHING and kind_of(held) != DONE and stop_of(held) == TILE_LEVELS
    left = held != NOTHING and not waiting
    if left:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
        M[a + HELD] = NOTHING
    wait = matched(M, a, t)
    if wait != READY:
        return acted(M, t) if left else wait
    beat = head(M, M[a + IN])
    ends_group = stop_of(beat) > TILE_LEVELS
    if dropped(M, a, beat) and (waiting or not ends_group):
        if ends_group:
            M[a + HELD] = make_beat(kind_of(held), stop_of(beat), low_of(held), aux_of(held))
        take(M, a, t)
        return acted(M, t)
    if waiting:
        wait = room(M, y, t)
        if wait != READY:
            return wait
        push(M, y, t, held)
    if dropped(M, a, beat):
        beat = make_beat(BARE, stop_of(beat), TILE_LEVELS + 1, 0)
    take(M, a, t)
    M[a + HELD] = beat
    return acted(M, t)


@step
def filtered(M, a, t):  # type: ignore[no-untyped-def]
    """Skip a bare flag whatever x does, since it may stand in the way of what x waits for."""
    flags = M[a + FLAGS]
    M[a + SKIPPED] = ready(M, flags, t) == READY and kind_of(head(M, flags)) == BARE
    if M[a + SKIPPED]:
        pop(M, flags, t)
    M[REASON] = WORKING
    then = hold(M, a, t) if M[a + RULE] else flow(M, a, t)
    why = M[REASON]
    if why == WORKING or M[a + SKIPPED]:
        return acted(M, t)
    if ready(M, flags, t) != READY and then != NEVER:
        then = t + 1 if then > 0 or ready(M, flags, t) > 0 else ANY
    M[REASON] = why
    return then


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor; it holds a beat back where the table says so."""
    x, flags = (machine.channel(name) for name in unit.inputs)
    y = machine.channel(unit.outputs[0])
    own = [x, flags, y, NOTHING, 0, int(unit.params["hold"])]
    machine.actor(unit.name, "filter", filtered, own, reads=[x, flags], writes=[y])
