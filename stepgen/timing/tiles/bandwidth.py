"""Measured bandwidth of an off-chip memory under streams of tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.timing.drive import drive
from stepgen.timing.kernel import *
from stepgen.timing.kernel import REASON, WHEEL_MASK, WORKING
from stepgen.timing.layout import Layout
from stepgen.timing.tiles.memory import PORT, Dram, SimpleMemory, advance, start

PATTERNS = ("sequential", "streams", "random")
SPACE = 1 << 32
"""Bytes of memory that tiles are drawn from."""
AFTER_ALL = int(np.iinfo(np.int64).max)
"""Next step of a port that has moved all its tiles."""

P = record(
    "ports", "count", "tile", "in_flight", "records", "writes", "addresses", "state", "left", "end"
)
PLACE = offsets("look", "begun", "busy", "answers", start=0)
"""Of a port: its next step, how many tiles it has begun, whether one is under way, and the cycle of
the last response to each of the last ones."""


@dataclass(frozen=True)
class Bandwidth:
    """Measured bandwidth of a memory.

    Attributes
    ----------
    pattern : str
        How the addresses of tiles follow each other.
    tile, ports, writes : int
        Bytes of a tile, number of ports, and how many of them write.
    bytes, cycles : int
        Bytes moved, and the cycles that this took.
    per_cycle : float
        Bytes per cycle.
    share : float
        The same as a fraction of the memory's peak.
    """

    pattern: str
    tile: int
    ports: int
    writes: int
    bytes: int
    cycles: int
    per_cycle: float
    share: float


def bandwidth(
    memory: SimpleMemory | Dram,
    pattern: str = "sequential",
    *,
    bytes: int = 1 << 23,
    ports: int = 4,
    writes: int = 0,
    tile: int = 8192,
    in_flight: int = 2,
    seed: int = 0,
) -> Bandwidth:
    """Measure the bandwidth of a memory under streams of tiles.

    Parameters
    ----------
    memory : SimpleMemory or Dram
        The memory.
    pattern : {"sequential", "streams", "random"}
        ``"sequential"``: the ports access consecutive tiles in turn; ``"streams"``: each port
        accesses consecutive tiles of its own; ``"random"``: tiles at random addresses.
    bytes : int
        Bytes to move in all, rounded up to complete tiles for every port.
    ports : int
        Ports that access memory at the same time.
    writes : int
        How many of the ports write.
    tile : int
        Bytes of a tile.
    in_flight : int
        Tiles that a port may have requested and not yet received.
    seed : int
        Seed of the random addresses.

    Returns
    -------
    Bandwidth

    Raises
    ------
    StepError
        If there is no such pattern, or a number is not positive.
    """
    if pattern not in PATTERNS:
        raise StepError(f"bandwidth: a pattern is one of {', '.join(PATTERNS)}, not {pattern!r}")
    if min(bytes, ports, tile, in_flight) < 1 or tile * ports > SPACE or not 0 <= writes <= ports:
        raise StepError(
            f"bandwidth: cannot move {bytes} bytes through {ports} ports, of which {writes} write, "
            f"in tiles of {tile} bytes with {in_flight} in flight"
        )
    count = -(-bytes // (tile * ports))
    places = SPACE // tile
    if pattern == "random":
        numbers = np.random.default_rng(seed).integers(0, places, (ports, count))
    elif pattern == "streams":
        apart = places // ports
        numbers = (np.arange(ports)[:, None] * apart + np.arange(count)) % places
    else:
        numbers = (np.arange(ports)[:, None] + np.arange(count) * ports) % places
    layout = Layout("bandwidth")
    address = memory.lay_out(layout)
    kinds = (np.arange(ports) < writes).astype(np.int64)
    records = [memory.port(layout, address, write=bool(kind)) for kind in kinds]
    own = packed(
        P,
        ports=ports,
        count=count,
        tile=tile,
        in_flight=in_flight,
        records=layout.reserve(records),
        writes=layout.reserve(kinds),
        addresses=layout.reserve((numbers * tile).reshape(-1)),
        state=layout.reserve([0] * (ports * (PLACE.answers + in_flight))),
        left=ports,
        end=0,
    )
    actor = layout.actor("memory", "move", move, own, reads=[], writes=[], finishes=True)
    cycles = int(drive(layout).M[actor + P.end])
    moved = count * ports * tile
    per_cycle = moved / cycles
    return Bandwidth(
        pattern, tile, ports, writes, moved, cycles, per_cycle, per_cycle / memory.peak
    )


@step
def move(M: Memory, a: int, t: int) -> int:
    """Move tiles through all ports, those of a cycle in their order."""
    in_flight = M[a + P.in_flight]
    earliest = t + M[WHEEL_MASK]
    for p in range(M[a + P.ports]):
        place = M[a + P.state] + p * (PLACE.answers + in_flight)
        port = M[M[a + P.records] + p]
        while M[place + PLACE.look] == t:
            if M[place + PLACE.busy]:
                then = advance(M, port, t)
                if then:
                    M[place + PLACE.look] = then
                    continue
                done: int = M[port + PORT.done]
                M[place + PLACE.busy] = 0
                M[place + PLACE.answers + M[place + PLACE.begun] % in_flight] = done
                M[a + P.end] = max(M[a + P.end], done)
                M[place + PLACE.begun] += 1
            begun: int = M[place + PLACE.begun]
            answer: int = M[place + PLACE.answers + begun % in_flight]
            if begun == M[a + P.count]:
                M[place + PLACE.look] = AFTER_ALL
                M[a + P.left] -= 1
            elif answer > t:
                M[place + PLACE.look] = answer
            else:
                address = M[M[a + P.addresses] + p * M[a + P.count] + begun]
                start(M, port, t, address, 1, M[a + P.tile], M[M[a + P.writes] + p])
                M[place + PLACE.busy] = 1
        earliest = min(earliest, M[place + PLACE.look])
    if M[a + P.left] == 0:
        finish(M, a)
        return NEVER
    M[REASON] = WORKING
    return earliest
