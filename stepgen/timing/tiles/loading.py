"""Loads as two actors: one requests tiles, one delivers those that have arrived.

The queue between them has a slot for each tile that may be in flight. A slot is taken from the
first request of a tile until the tile has been delivered.
"""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.ir.stream import Node
from stepgen.ir.wire import VALUE
from stepgen.timing.kernel import *
from stepgen.timing.kernel import POPPED, PUSHED
from stepgen.timing.tiles import memory
from stepgen.timing.tiles.accesses import noted
from stepgen.timing.tiles.actor import (
    COMMON,
    IDLE,
    TILED,
    area,
    fresh,
    hold,
    is_done,
    later,
    send_until,
    take,
    value,
)
from stepgen.timing.tiles.ports import PORT
from stepgen.timing.tiles.program import TileProgram

LOADING = record(
    *COMMON._fields,
    *("port", "line", "arrivals", "mask", "base", "rows", "row_bytes", "tile", "stop", "words"),
    *("accesses",),
)
"""First fields of an actor that requests tiles."""
DELIVERY = record(*COMMON._fields, "out", "line", "arrivals", "mask", "size")
"""The record of an actor that delivers tiles."""


@helper
def fetch(M: Memory, a: int, t: int, number: int, stop: int) -> int:
    """Begin to request tile `number`, which closes `stop` dims; `READY`, or the next step."""
    rows, row_bytes = M[a + LOADING.rows], M[a + LOADING.row_bytes]
    size = rows * row_bytes
    address = M[a + LOADING.base] + number * size
    memory.start(M, M[a + LOADING.port], t, address, rows, row_bytes, 0)
    M[a + LOADING.accesses] = noted(M, M[a + LOADING.accesses], t, number)
    hold(M, size)
    M[a + LOADING.traffic] += size
    M[a + LOADING.stop] = stop
    if M[a + LOADING.words] != 0:
        M[a + LOADING.tile] = M[M[a + LOADING.words] + number]
    M[a + LOADING.busy_until] = t
    return asked(M, a, t)


@helper
def asked(M: Memory, a: int, t: int) -> int:
    """Continue; `READY` when all requests of the tile are issued, else the next step."""
    port, line = M[a + LOADING.port], M[a + LOADING.line]
    when = memory.advance(M, port, t)
    if when:
        return later(M, t, when)
    place = M[line + PUSHED] & M[a + LOADING.mask]
    M[M[a + LOADING.arrivals] + place] = M[port + PORT.done]
    push(M, line, t, value(M[a + LOADING.tile], M[a + LOADING.stop]))
    M[a + LOADING.busy_until] = IDLE
    return READY


@step
def deliver(M: Memory, a: int, t: int) -> int:
    line, out = M[a + DELIVERY.line], M[a + DELIVERY.out]
    wait = ready(M, line, t)
    if wait != READY:
        return wait
    arrives = M[M[a + DELIVERY.arrivals] + (M[line + POPPED] & M[a + DELIVERY.mask])]
    beat = head(M, line)
    # If streams move tiles by elements, the first are sent as soon as the last can follow.
    rate, first = M[out + TILED.rate], arrives
    if rate:
        first -= (area(aux_of(beat)) + rate - 1) // rate
    if kind_of(beat) == VALUE and t < first:
        return later(M, t, first)
    wait = room(M, out, t)
    if wait != READY:
        return wait
    take(M, line, t)
    if kind_of(beat) == VALUE:
        hold(M, -M[a + DELIVERY.size])
    send_until(M, a, out, t, beat, arrives)
    return NEVER if is_done(beat) else acted(M, t)


def build(node: Node, to: TileProgram) -> tuple[int, dict[str, int]]:
    """Add the actor that delivers; returns the queue, and fields of the actor that requests."""
    tensor = to.graph.tensors[node.attrs["tensor"]]
    rows, cols = node.attrs["tile"]
    row_bytes = cols * tensor.element.bytes // tensor.element.packed
    places = to.machine.tiles_in_flight
    mask = (1 << (places - 1).bit_length()) - 1
    arrivals = to.reserve([0] * (mask + 1))
    line = to.internal(f"{node.name} in flight", places)
    out = to.output(node)
    size = rows * row_bytes
    own = fresh(DELIVERY, out=out, line=line, arrivals=arrivals, mask=mask, size=size)
    to.add(node, deliver, own, reads=[line], writes=[out], name="deliver")
    return line, {
        "port": to.port(),
        "line": line,
        "arrivals": arrivals,
        "mask": mask,
        "tile": to.tile(rows, cols),
        "words": to.addresses_in(tensor, rows * cols),
        "base": to.base(tensor),
        "rows": rows,
        "row_bytes": row_bytes,
        "stop": 0,
        "accesses": to.order.first(node),
    }


def tiles_of(node: Node, to: TileProgram) -> int:
    """Number of tiles of a node's tensor."""
    rows, cols = to.graph.tensors[node.attrs["tensor"]].grid(node.attrs["tile"])
    return rows * cols


def check_number(node: Node, to: TileProgram, actor: int, addresses: int, verb: str) -> None:
    """Register the error for an actor that stops at the number of a tile that does not exist."""
    tiles = tiles_of(node, to)

    def out_of_range(number: int) -> StepError:
        return StepError(
            f"{node.name} ({node.where}): {node.inputs[0].name} {verb} tile {number} of tensor "
            f"{node.attrs['tensor']}, which has {tiles} tiles"
        )

    to.check_head(actor, addresses, tiles, out_of_range)
