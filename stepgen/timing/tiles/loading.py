"""Loads in two actors: one asks for tiles, one passes on those that have come.

Between them is a line of as many places as tiles may be in flight. A place is taken from the first
request of a tile until the tile has been passed on.
"""

from __future__ import annotations

from ...ir.errors import StepError
from ...ir.stream import Node
from ..kernel import POPPED, PUSHED, push
from . import memory
from .actor import (
    BUSY_UNTIL,
    IDLE,
    NEVER,
    PORTS,
    RATE,
    READY,
    TRAFFIC,
    VALUE,
    acted,
    area,
    aux_of,
    head,
    helper,
    hold,
    is_done,
    kind_of,
    later,
    ready,
    room,
    send_until,
    step,
    take,
    value,
)
from .program import Program

PORT, LINE, ARRIVALS, MASK, BASE, ROWS, ROW_BYTES, TILE, STOP, WORDS = range(PORTS, PORTS + 10)
FIRST = PORTS + 10
"""First field of an actor that asks for tiles, after those above."""


@helper
def fetch(M, a, t, number, stop):  # type: ignore[no-untyped-def]
    """Begin to ask for tile `number`, which will close `stop` dims; when to look again."""
    size = M[a + ROWS] * M[a + ROW_BYTES]
    memory.start(M, M[a + PORT], t, M[a + BASE] + number * size, M[a + ROWS], M[a + ROW_BYTES], 0)
    hold(M, size)
    M[a + TRAFFIC] += size
    M[a + STOP] = stop
    if M[a + WORDS] != 0:
        M[a + TILE] = M[M[a + WORDS] + number]
    M[a + BUSY_UNTIL] = t
    return asked(M, a, t)


@helper
def asked(M, a, t):  # type: ignore[no-untyped-def]
    """Go on asking; `READY` when the tile is on its way, else when to look again."""
    when = memory.advance(M, M[a + PORT], t)
    if when:
        return later(M, t, when)
    line = M[a + LINE]
    M[M[a + ARRIVALS] + (M[line + PUSHED] & M[a + MASK])] = M[M[a + PORT] + memory.DONE]
    push(M, line, t, value(M[a + TILE], M[a + STOP]))
    M[a + BUSY_UNTIL] = IDLE
    return READY


OUT, FROM, TIMES, TIMES_MASK, SIZE = range(PORTS, PORTS + 5)


@step
def deliver(M, a, t):  # type: ignore[no-untyped-def]
    line, out = M[a + FROM], M[a + OUT]
    wait = ready(M, line, t)
    if wait != READY:
        return wait
    arrives = M[M[a + TIMES] + (M[line + POPPED] & M[a + TIMES_MASK])]
    beat = head(M, line)
    # Where streams move tiles by elements, the first go on as soon as the last can follow.
    rate, first = M[out + RATE], arrives
    if rate:
        first -= (area(aux_of(beat)) + rate - 1) // rate
    if kind_of(beat) == VALUE and t < first:
        return later(M, t, first)
    wait = room(M, out, t)
    if wait != READY:
        return wait
    take(M, line, t)
    if kind_of(beat) == VALUE:
        hold(M, -M[a + SIZE])
    send_until(M, a, out, t, beat, arrives)
    return NEVER if is_done(beat) else acted(M, t)


def build(node: Node, to: Program) -> tuple[int, list[int]]:
    """Add what passes tiles on; returns the line and the first fields of what asks for them."""
    tensor = to.graph.tensors[node.attrs["tensor"]]
    rows, cols = node.attrs["tile"]
    row_bytes = cols * tensor.element.bytes
    places = to.machine.tiles_in_flight
    mask = (1 << (places - 1).bit_length()) - 1
    arrivals = to.reserve([0] * (mask + 1))
    line = to.internal(f"{node.name} on its way", places)
    out = to.output(node)
    own = [out, line, arrivals, mask, rows * row_bytes]
    to.add(node, deliver, own, reads=[line], writes=[out], name="passes on")
    port = to.port()
    word, words = to.tile(rows, cols), to.addresses_in(tensor, rows * cols)
    return line, [port, line, arrivals, mask, to.base(tensor), rows, row_bytes, word, 0, words]


def tiles_of(node: Node, to: Program) -> int:
    """How many tiles the tensor of a node has."""
    rows, cols = to.graph.tensors[node.attrs["tensor"]].grid(node.attrs["tile"])
    return rows * cols


def check_number(node: Node, to: Program, actor: int, addresses: int, verb: str) -> None:
    """Have an actor explained that stopped at the number of a tile that is not there."""
    tiles = tiles_of(node, to)

    def out_of_range(number: int) -> StepError:
        return StepError(
            f"{node.name} ({node.where}): {node.inputs[0].name} {verb} tile {number} of tensor "
            f"{node.attrs['tensor']}, which has {tiles} tiles"
        )

    to.check_head(actor, addresses, tiles, out_of_range)
