"""Measured bandwidth of an off-chip memory under streams of tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError
from stepgen.timing import compiled
from stepgen.timing.kernel import Memory
from stepgen.timing.layout import Layout
from stepgen.timing.tiles.memory import PORT, Dram, SimpleMemory, advance, start

PATTERNS = ("sequential", "streams", "random")
SPACE = 1 << 32
"""Bytes of memory that tiles are drawn from."""
AFTER_ALL = np.iinfo(np.int64).max
"""Next step of a port that has moved all its tiles."""


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
    records = np.array([memory.port(layout, address, write=bool(kind)) for kind in kinds])
    cycles = int(
        compiled.plain(_measure)(layout.build(), records, numbers * tile, tile, kinds, in_flight)
    )
    moved = count * ports * tile
    per_cycle = moved / cycles
    return Bandwidth(
        pattern, tile, ports, writes, moved, cycles, per_cycle, per_cycle / memory.peak
    )


def _measure(
    M: Memory,
    records: npt.NDArray[np.int64],
    addresses: npt.NDArray[np.int64],
    tile: int,
    writes: npt.NDArray[np.int64],
    in_flight: int,
) -> int:
    """Transfer the tiles of all ports, in order of time; returns when the last one has arrived."""
    ports, count = addresses.shape
    look = np.zeros(ports, dtype=np.int64)
    begun = np.zeros(ports, dtype=np.int64)
    busy = np.zeros(ports, dtype=np.bool_)
    answers = np.zeros((ports, in_flight), dtype=np.int64)
    left = ports
    end = 0
    while left:
        p = np.argmin(look)
        t = look[p]
        port = records[p]
        if busy[p]:
            then = advance(M, port, t)
            if then:
                look[p] = then
                continue
            busy[p] = False
            answers[p, begun[p] % in_flight] = M[port + PORT.done]
            end = max(end, M[port + PORT.done])
            begun[p] += 1
        if begun[p] == count:
            look[p] = AFTER_ALL
            left -= 1
        elif answers[p, begun[p] % in_flight] > t:
            look[p] = answers[p, begun[p] % in_flight]
        else:
            start(M, port, t, addresses[p, begun[p]], 1, tile, writes[p])
            busy[p] = True
    return end
