"""Stores: a tile stays at the head of its FIFO until it is written."""

from __future__ import annotations

from ...ir.stream import Node
from . import memory
from .actor import BUSY_UNTIL, IDLE, PORTS, READY, TRAFFIC, helper, later
from .program import Program

PORT, BASE, ROWS, ROW_BYTES, OFFERED = range(PORTS, PORTS + 5)
FIRST = PORTS + 5
"""First field of an actor that writes tiles, after those above."""


@helper
def begin(M, a, t, offset):  # type: ignore[no-untyped-def]
    """Begin to write a tile, which lies so many bytes behind the begin of its tensor."""
    size = M[a + ROWS] * M[a + ROW_BYTES]
    memory.start(M, M[a + PORT], t, M[a + BASE] + offset, M[a + ROWS], M[a + ROW_BYTES], 1)
    M[a + TRAFFIC] += size
    M[a + OFFERED] = 0
    M[a + BUSY_UNTIL] = t


@helper
def written(M, a, t):  # type: ignore[no-untyped-def]
    """`READY` when the tile is written, else when to look again."""
    if not M[a + OFFERED]:
        when = memory.advance(M, M[a + PORT], t)
        if when:
            return later(M, t, when)
        M[a + OFFERED] = 1
        M[a + BUSY_UNTIL] = M[M[a + PORT] + memory.DONE]
    if t < M[a + BUSY_UNTIL]:
        return later(M, t, M[a + BUSY_UNTIL])
    M[a + BUSY_UNTIL] = IDLE
    return READY


def fields(node: Node, to: Program, rows: int, cols: int) -> list[int]:
    """The fields of an actor that writes tiles of these extents."""
    tensor = to.graph.tensors[node.attrs["tensor"]]
    row_bytes = cols * to.machine.policy.bytes_per_element(to.tile_type(node.inputs[-1]))
    return [to.port(write=True), to.base(tensor), rows, row_bytes, 0]
