"""Timing of group: a stop unit that counts."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import BARE, DONE
from ..kernel import (
    OWN,
    READY,
    acted,
    aux_of,
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

IN, OUT, LEVEL, CHUNK, SEEN = range(OWN, OWN + 5)


@step
def flow(M, a, t):  # type: ignore[no-untyped-def]
    x, y, level = M[a + IN], M[a + OUT], M[a + LEVEL]
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    wait = room(M, y, t)
    if wait != READY:
        return wait
    beat = pop(M, x, t)
    kind, stop, low = kind_of(beat), stop_of(beat), low_of(beat)
    if kind == BARE and low > level:
        beat = make_beat(BARE, stop + 1, low + 1, 0)
    elif kind != DONE and stop >= level:
        M[a + SEEN] += 1
        if M[a + SEEN] == M[a + CHUNK]:
            M[a + SEEN] = 0
            beat = make_beat(kind, stop + 1, low, aux_of(beat))
    push(M, y, t, beat)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor with a count."""
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    own = [x, y, unit.params["level"], unit.params["chunk"], 0]
    machine.actor(unit.name, "count", flow, own, reads=[x], writes=[y])
