"""Holding one beat back, to raise its stop when a group ends late; one beat goes out per cycle."""

from __future__ import annotations

from .actor import PORTS, aux_of, bare, helper, kind_of, low_of, make_beat, send

OUT, HOLDS, HELD_BEAT, HAS_HELD = range(PORTS, PORTS + 4)
FIRST = PORTS + 4
"""First field of an actor that holds back, after those above."""


@helper
def flush(M, a, t):  # type: ignore[no-untyped-def]
    """Let go of what is held back, which takes this cycle; whether there was anything."""
    held = M[a + HAS_HELD] == 1
    if held:
        send(M, a, M[a + OUT], t, M[a + HELD_BEAT])
        M[a + HAS_HELD] = 0
    return held


@helper
def put(M, a, t, beat, final):  # type: ignore[no-untyped-def]
    """Emit a beat, or hold it back and emit the one before; whether the beat is gone or held."""
    if M[a + HOLDS] and not final:
        flush(M, a, t)
        M[a + HELD_BEAT], M[a + HAS_HELD] = beat, 1
        return True
    if flush(M, a, t):
        return False
    send(M, a, M[a + OUT], t, beat)
    return True


@helper
def close(M, a, t, low, stop):  # type: ignore[no-untyped-def]
    """Close the levels ``low..stop`` on the beat held back, or as an empty group."""
    if M[a + HAS_HELD]:
        held = M[a + HELD_BEAT]
        M[a + HAS_HELD] = 0
        send(M, a, M[a + OUT], t, make_beat(kind_of(held), stop, low_of(held), aux_of(held)))
    else:
        send(M, a, M[a + OUT], t, bare(low, stop))
