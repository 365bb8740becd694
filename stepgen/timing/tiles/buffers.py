"""Buffers in on-chip memory: lists of elements, freed after their last reading.

A buffer is an address in the arena: its size in bytes, its first element, and the number of readers
left. An element is a beat and the address of the next element.
"""

from __future__ import annotations

from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.tiles.actor import hold

BUFFER = offsets("size", "start", "readers")
ELEMENT = offsets("beat", "after")


@helper
def share(M: Memory, beat: int, readers: int) -> None:
    """Pass a reference to `readers` readers instead of one; 0 frees the buffer."""
    if kind_of(beat) == VALUE:
        buffer = aux_of(beat)
        M[buffer + BUFFER.readers] += readers - 1
        if M[buffer + BUFFER.readers] == 0:
            hold(M, -M[buffer + BUFFER.size])


@helper
def release(M: Memory, buffer: int) -> None:
    """One reader is done; the last one frees the buffer."""
    M[buffer + BUFFER.readers] -= 1
    if M[buffer + BUFFER.readers] == 0:
        hold(M, -M[buffer + BUFFER.size])
