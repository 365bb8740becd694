"""Common part of stores: a tile stays at the head of its FIFO until it is written."""

from __future__ import annotations

from stepgen.ir.stream import Node
from stepgen.timing.kernel import READY, Memory, helper, record
from stepgen.timing.tiles import memory
from stepgen.timing.tiles.accesses import noted
from stepgen.timing.tiles.actor import COMMON, IDLE, later
from stepgen.timing.tiles.ports import PORT
from stepgen.timing.tiles.program import TileProgram

STORING = record(*COMMON._fields, "port", "base", "rows", "row_bytes", "offered", "accesses")
"""First fields of an actor that writes tiles."""


@helper
def begin(M: Memory, a: int, t: int, offset: int) -> None:
    """Begin to write a tile, at byte `offset` of its tensor."""
    rows, row_bytes = M[a + STORING.rows], M[a + STORING.row_bytes]
    memory.start(M, M[a + STORING.port], t, M[a + STORING.base] + offset, rows, row_bytes, 1)
    number = offset // (rows * row_bytes)
    M[a + STORING.accesses] = noted(M, M[a + STORING.accesses], t, number)
    M[a + STORING.traffic] += rows * row_bytes
    M[a + STORING.offered] = 0
    M[a + STORING.busy_until] = t


@helper
def written(M: Memory, a: int, t: int) -> int:
    """`READY` when the tile is written, else the next step."""
    if not M[a + STORING.offered]:
        when = memory.advance(M, M[a + STORING.port], t)
        if when:
            return later(M, t, when)
        M[a + STORING.offered] = 1
        M[a + STORING.busy_until] = M[M[a + STORING.port] + PORT.done]
    if t < M[a + STORING.busy_until]:
        return later(M, t, M[a + STORING.busy_until])
    M[a + STORING.busy_until] = IDLE
    return READY


def fields(node: Node, to: TileProgram, rows: int, cols: int) -> dict[str, int]:
    """The own fields of an actor that writes tiles of these extents."""
    tensor = to.graph.tensors[node.attrs["tensor"]]
    row_bytes = cols * to.machine.policy.bytes_per_element(to.tile_type(node.inputs[-1]))
    port, base = to.port(write=True), to.base(tensor)
    return {
        "port": port,
        "base": base,
        "rows": rows,
        "row_bytes": row_bytes,
        "offered": 0,
        "accesses": to.order.first(node),
    }
