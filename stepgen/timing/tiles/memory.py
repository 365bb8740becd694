"""Off-chip memory as operators see it, for both memory models.

A port belongs to one operator. `start` begins the transfer of one tile; `advance` is then called in
every cycle that it returns, until it returns 0: all requests of the tile have been issued, and
``M[port + PORT.done]`` is the cycle of the last response. A port transfers one tile at a time; the
next may start before the responses to the last one have arrived.
"""

from __future__ import annotations

from stepgen.timing.kernel import Memory, helper
from stepgen.timing.tiles import dram_steps, simple
from stepgen.timing.tiles.dram import DDR4, HBM2, Dram
from stepgen.timing.tiles.ports import KIND_SIMPLE, MEMORY, PORT
from stepgen.timing.tiles.simple import SimpleMemory

__all__ = ["DDR4", "HBM2", "PORT", "Dram", "SimpleMemory", "advance", "start"]


@helper
def start(
    M: Memory, port: int, t: int, address: int, rows: int, row_bytes: int, write: int
) -> None:
    """Begin to transfer a tile in cycle `t`.

    Parameters
    ----------
    M : int64 array
        The state array.
    port : int
        Address of the port.
    t : int
        The current cycle.
    address : int
        Byte address of the tile, which is contiguous.
    rows, row_bytes : int
        Its size.
    write : int
        1 for a store.
    """
    if M[M[port + PORT.model] + MEMORY.kind] == KIND_SIMPLE:
        simple.start(M, port, t, rows, row_bytes)
    else:
        dram_steps.start(M, port, t, address, rows, row_bytes, row_bytes, write)


@helper
def advance(M: Memory, port: int, t: int) -> int:
    """Continue a tile in cycle `t`; returns 0 when all requests are issued, else the next step."""
    if M[M[port + PORT.model] + MEMORY.kind] == KIND_SIMPLE:
        return simple.advance(M, port, t)
    return dram_steps.advance(M, port, t)
