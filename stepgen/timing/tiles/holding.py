"""Holding register for one beat, whose stop is raised if its group ends late."""

from __future__ import annotations

from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import COMMON, bare, send

HOLDING = record(*COMMON._fields, "out", "holds", "held", "has_held")
"""First fields of an actor with a holding register."""


@helper
def flush(M: Memory, a: int, t: int) -> bool:
    """Emit the beat held, if there is one, which takes this cycle; returns whether there was."""
    held: bool = M[a + HOLDING.has_held] == 1
    if held:
        send(M, a, M[a + HOLDING.out], t, M[a + HOLDING.held])
        M[a + HOLDING.has_held] = 0
    return held


@helper
def put(M: Memory, a: int, t: int, beat: int, final: bool) -> bool:
    """Emit a beat, or hold it and emit the one before; returns whether it was emitted or held."""
    if M[a + HOLDING.holds] and not final:
        flush(M, a, t)
        M[a + HOLDING.held], M[a + HOLDING.has_held] = beat, 1
        return True
    if flush(M, a, t):
        return False
    send(M, a, M[a + HOLDING.out], t, beat)
    return True


@helper
def close(M: Memory, a: int, t: int, low: int, stop: int) -> None:
    """Close the levels ``low..stop`` on the beat held, or as an empty group."""
    if M[a + HOLDING.has_held]:
        held = M[a + HOLDING.held]
        M[a + HOLDING.has_held] = 0
        send(
            M, a, M[a + HOLDING.out], t, make_beat(kind_of(held), stop, low_of(held), aux_of(held))
        )
    else:
        send(M, a, M[a + HOLDING.out], t, bare(low, stop))
