"""Timing of the end of a stream that nobody reads."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.wire import DONE
from ..kernel import OWN, READY, acted, finish, kind_of, pop, ready, step
from ..laid_out import LaidOut

IN = OWN


@step
def take(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    if kind_of(pop(M, M[a + IN], t)) == DONE:
        finish(M, a)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """A beat per cycle."""
    x = machine.channel(unit.inputs[0])
    machine.actor(unit.name, "take", take, [x], reads=[x], writes=[], finishes=True)
