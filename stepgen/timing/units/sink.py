"""Timing of a port that streams leave through."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.stalls import stalled
from ...ir.wire import DONE
from ..kernel import OWN, READY, acted, finish, held_back, kind_of, pop, ready, step
from ..laid_out import LaidOut

IN, KEY, THRESHOLD = range(OWN, OWN + 3)


@step
def take(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    if kind_of(pop(M, M[a + IN], t)) == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """A sink takes a beat in every cycle that is not stalled; the run lasts until its ``DONE``."""
    x = machine.channel(unit.inputs[0])
    key, threshold = machine.stalls.of(unit.name)
    machine.actor(unit.name, "take", take, [x, key, threshold], reads=[x], writes=[], finishes=True)
