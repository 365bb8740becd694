"""Buffers in on-chip memory: lists of elements, given back after their last reading.

A buffer is an address in the arena: its size in bytes, its first element, and how many readers it
still has. An element is a beat and the address of the next.
"""

from __future__ import annotations

import numba as nb

from .actor import VALUE, aux_of, hold, kind_of

SIZE, START, READERS = range(3)
BUFFER_WORDS = 3
BEAT, AFTER = range(2)
ELEMENT_WORDS = 2


@nb.njit
def share(M, beat, readers):  # type: ignore[no-untyped-def]
    """Note that a reference goes to so many readers instead of one; 0 gives the buffer back."""
    if kind_of(beat) == VALUE:
        buffer = aux_of(beat)
        M[buffer + READERS] += readers - 1
        if M[buffer + READERS] == 0:
            hold(M, -M[buffer + SIZE])


@nb.njit
def release(M, buffer):  # type: ignore[no-untyped-def]
    """Note that one reader is done."""
    M[buffer + READERS] -= 1
    if M[buffer + READERS] == 0:
        hold(M, -M[buffer + SIZE])
