"""Cycle model of a fork: a beat moves when all outputs have room."""

from __future__ import annotations

from ....timing.kernel import READY, Memory, acted, packed, pop, push, ready, record, room, step
from ....timing.laid_out import LaidOut
from ...design.table import Unit
from .params import Fork

P = record("x", "branches", "ys")


@step
def copy(M: Memory, a: int, t: int) -> int:
    wait = ready(M, M[a + P.x], t)
    if wait != READY:
        return wait
    for n in range(M[a + P.branches]):
        wait = room(M, M[a + P.ys + n], t)
        if wait != READY:
            return wait
    beat = pop(M, M[a + P.x], t)
    for n in range(M[a + P.branches]):
        push(M, M[a + P.ys + n], t, beat)
    return acted(M, t)


def build(unit: Unit, params: Fork, machine: LaidOut) -> None:
    """One actor for all outputs."""
    x = machine.channel(unit.inputs["x"])
    ys = [machine.channel(name) for name in unit.outputs.values()]
    own = packed(P, x=x, branches=params.branches, ys=ys)
    machine.actor(unit.name, "copy", copy, own, reads=[x], writes=ys)
