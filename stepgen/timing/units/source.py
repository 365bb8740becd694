"""Timing of a port that streams enter through."""

from __future__ import annotations

from ...compile.design import Unit
from ...ir.stalls import stalled
from ..kernel import NEVER, OWN, READY, acted, held_back, push, room, step
from ..laid_out import LaidOut

OUT, BEATS, LEFT, OFFERED, KEY, THRESHOLD = range(OWN, OWN + 6)


@step
def offer(M, a, t):  # type: ignore[no-untyped-def]
    if M[a + LEFT] == 0:
        return NEVER
    if not M[a + OFFERED] and stalled(M[a + KEY], M[a + THRESHOLD], t):
        return held_back(M, t)
    M[a + OFFERED] = 1
    wait = room(M, M[a + OUT], t)
    if wait != READY:
        return wait
    push(M, M[a + OUT], t, M[M[a + BEATS]])
    M[a + BEATS] += 1
    M[a + LEFT] -= 1
    M[a + OFFERED] = 0
    return acted(M, t)


def build(unit: Unit, machine: LaidOut) -> None:
    """A source offers a beat from the first cycle that is not stalled, until it is taken.

    It is closed from its ``DONE`` on: of beats that are offered early the next run takes the first
    as one that was offered before its cycle 0.
    """
    y = machine.channel(unit.outputs[0])
    beats = machine.stimulus(unit)
    key, threshold = machine.stalls.of(unit.name)
    offered = int(unit.name in machine.early)
    own = [y, machine.reserve(beats), len(beats), offered, key, threshold]
    machine.actor(unit.name, "offer", offer, own, reads=[], writes=[y])
