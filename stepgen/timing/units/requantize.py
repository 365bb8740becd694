"""Timing of requantize: beats pass."""

from __future__ import annotations

from ...compile.design import Unit
from ..kernel import OWN, READY, acted, pop, push, ready, room, step
from ..laid_out import LaidOut

IN, OUT = range(OWN, OWN + 2)


@step
def flow(M, a, t):  # type: ignore[no-untyped-def]
    wait = ready(M, M[a + IN], t)
    if wait != READY:
        return wait
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    push(M, M[a + OUT], t, pop(M, M[a + IN], t))
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """One actor; the pipeline behind it is the output channel's delay."""
    x, y = machine.channel(unit.inputs[0]), machine.channel(unit.outputs[0])
    machine.actor(unit.name, "scale", flow, [x, y], reads=[x], writes=[y])
