"""linear_offchip_store: writes one tile after the other; each is popped when it is written."""

from __future__ import annotations

import math

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import FAULT
from stepgen.timing.tiles import storing
from stepgen.timing.tiles.actor import IDLE, area, cols_of, fresh, is_done, rows_of, take
from stepgen.timing.tiles.program import TileProgram
from stepgen.timing.tiles.storing import STORING, begin, written
from stepgen.timing.tiles.streams import holds_tiles

P = record(*STORING._fields, "x", "element_bytes", "fixed", "space")


@step
def store(M: Memory, a: int, t: int) -> int:
    x = M[a + P.x]
    if M[a + P.busy_until] != IDLE:
        wait = written(M, a, t)
        if wait != READY:
            return wait
        take(M, x, t)
    wait = ready(M, x, t)
    if wait != READY:
        return wait
    beat = head(M, x)
    tile = M[a + P.fixed] if M[a + P.fixed] else aux_of(beat)
    if kind_of(beat) == VALUE and area(tile):
        M[a + P.rows] = rows_of(tile)
        M[a + P.row_bytes] = cols_of(tile) * M[a + P.element_bytes]
        if M[a + P.traffic] + M[a + P.rows] * M[a + P.row_bytes] > M[a + P.space]:
            M[FAULT] = a
            return NEVER
        begin(M, a, t, M[a + P.traffic])
        M[a + P.tokens] += 1
        return written(M, a, t)
    take(M, x, t)
    if is_done(beat):
        finish(M, a)
        return NEVER
    return acted(M, t)


def build(node: Node, to: TileProgram) -> None:
    """Structure is ignored; tiles may have any number of rows, flags and addresses are one."""
    x, stream = to.input(node, 0), node.inputs[0]
    tensor = to.graph.tensors[node.attrs["tensor"]]
    room, each = math.prod(tensor.shape), to.machine.policy.bytes_per_element(to.tile_type(stream))
    own = fresh(
        P,
        **storing.fields(node, to, 1, 1),
        x=x,
        element_bytes=each,
        space=room * each,
        fixed=0 if holds_tiles(stream) else to.static_tile(stream),
    )
    actor = to.add(node, store, own, reads=[x], finishes=True)
    to.faults[actor] = StepError(
        f"{node.name} ({node.where}): {stream.name} has more than the {room} elements that tensor "
        f"{tensor.name} has room for"
    )
