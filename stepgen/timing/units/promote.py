"""Timing of promote: a stop unit; to the outermost dim it holds the last beat back."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE
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

IN, OUT, LEVEL, HELD = range(OWN, OWN + 4)
NOTHING = -1


@step
def raised(M, a, beat):  # type: ignore[no-untyped-def]
    """The beat with its levels rewritten for an inner dim."""
    level = M[a + LEVEL]
    stop, low = stop_of(beat), low_of(beat)
    if kind_of(beat) == DONE:
        return beat
    if kind_of(beat) == BARE and low > level:
        low += 1
    if stop >= level:
        stop += 1
    return make_beat(kind_of(beat), stop, low, aux_of(beat))


@step
def flow(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    push(M, M[a + OUT], t, raised(M, a, pop(M, M[a + IN], t)))
    return acted(M, t)


@step
def hold(M, a, t):  # type: ignore[no-untyped-def]
    x, y, held = M[a + IN], M[a + OUT], M[a + HELD]
    seen = ready(M, x, t)
    if held == NOTHING:
        if seen != READY:
            return seen
        M[a + HELD] = pop(M, x, t)
        return acted(M, t)
    if kind_of(held) != DONE and stop_of(held) == M[a + LEVEL] - 1:
        if seen != READY:
            return seen
        if kind_of(head(M, x)) == DONE:
            held = make_beat(kind_of(held), M[a + LEVEL], low_of(held), aux_of(held))
    wait = room(M, y, t)
    if wait != READY:
        return wait
    push(M, y, t, held)
    M[a + HELD] = pop(M, x, t) if seen == READY else NOTHING
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor; it holds a beat back where the new dim is the outermost."""
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    machine.actor(
        unit.name,
        "rewrite",
        hold if unit.params["outermost"] else flow,
        [x, y, unit.params["level"], NOTHING],
        reads=[x],
        writes=[y],
    )
