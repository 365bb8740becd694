"""Timing of a fork: a beat moves when all outputs have room."""

from __future__ import annotations

from ...compile.design import Unit
from ..kernel import OWN, READY, acted, pop, push, ready, room, step
from ..laid_out import LaidOut

IN, COUNT, OUTS = range(OWN, OWN + 3)


@step
def copy(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    for n in range(M[a + COUNT]):
        wait = room(M, M[a + OUTS + n], t)
        if wait != READY:
            return wait
    beat = pop(M, M[a + IN], t)
    for n in range(M[a + COUNT]):
        push(M, M[a + OUTS + n], t, beat)
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor for all outputs."""
    x = machine.channel(unit.inputs[0])
    outs = [machine.channel(name) for name in unit.outputs]
    machine.actor(unit.name, "copy", copy, [x, len(outs), *outs], reads=[x], writes=outs)
