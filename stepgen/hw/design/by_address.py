"""Tiles by address: where they start, and the queues between addresses and accesses."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stepgen.hw.design import stages
from stepgen.hw.design.bus import Bus
from stepgen.hw.design.table import Channel, Design, Unit, index_bits
from stepgen.ir.arguments import Address

MOST_AHEAD = 64
"""Most elements in flight: up to this depth their queue has latency 1."""

ON_THE_WAY = 8
"""Cycles that an address and its data are on the way, but for the memory and multiplications."""


def in_flight(bus: Bus, tile_bytes: int, beat_bytes: float = math.inf) -> tuple[int, int]:
    """What an access by address has under way at the full rate.

    Parameters
    ----------
    bus : Bus
    tile_bytes : int
    beat_bytes : float
        Bytes of memory that it takes or sends in a cycle, at most.

    Returns
    -------
    words : int
        Bus words.
    tiles : int
        Addresses.
    """
    words = -(-tile_bytes // bus.bytes)
    covered = bus.latency + ON_THE_WAY + min(words, bus.burst)
    tiles = -(-(covered + stages.MULTIPLIER) // words) + 2
    rate = min(1.0, beat_bytes / bus.bytes)
    return max(math.ceil(rate * covered), 2 * bus.burst), min(tiles, MOST_AHEAD)


def multiplication(tile_bytes: int, word: int) -> int:
    """Cycles from the number of a tile to its start in words of `word` bytes; 0 for a shift."""
    steps = tile_bytes // math.gcd(word, tile_bytes)
    return stages.MULTIPLIER if steps & (steps - 1) else 0


def outside(unit: Unit, port: str, verb: str, tensor: str, tiles: int, design: Design) -> str:
    """What a unit says of an address at `port` past the last tile, with ``{}`` for the number."""
    stream = unit.inputs[port]
    ones = (1 << design.channel[stream].bits) - 1
    return (
        f"{unit.name} is to {verb} tile {{}} of {tensor}, which has {tiles} tiles, as {stream} "
        f"says, where {ones} stands for all numbers from there on"
    )


@dataclass(frozen=True)
class ByAddress:
    """The tiles of a tensor, one after the other.

    Attributes
    ----------
    base : Address
        Of the first one, in bytes.
    tile_bytes, tiles : int
        Bytes of a tile, and how many there are.
    word, boundary : int
        Bytes of a bus word and of a longest burst: starts count from such a boundary.
    ahead : int
        Addresses in flight.
    places : int
        Places in a word that bytes are moved to; 1 if all tiles start at the first one.
    """

    base: Address
    tile_bytes: int
    tiles: int
    word: int
    boundary: int
    ahead: int
    places: int

    @property
    def step(self) -> int:
        """Bytes of the largest unit in which starts count within words."""
        return math.gcd(self.word, self.tile_bytes)

    @property
    def steps(self) -> int:
        """Steps from the start of a tile to that of the next one."""
        return self.tile_bytes // self.step

    @property
    def delay(self) -> int:
        """Cycles from an address to its start; 0 if that is a shift."""
        return multiplication(self.tile_bytes, self.word)

    @property
    def before(self) -> int:
        """Bytes from the boundary to the first tile."""
        return self.base % self.boundary

    @property
    def origin(self) -> int:
        """Start of the first tile, in steps from the boundary."""
        return self.before // self.step

    @property
    def few(self) -> int:
        """Words of a tile that starts with a word."""
        return -(-self.tile_bytes // self.word)

    @property
    def many(self) -> int:
        """Words of a tile, at most."""
        return -(-(self.word - self.step + self.tile_bytes) // self.word)

    @property
    def starts(self) -> Channel:
        """The queue of the starts of tiles, in steps."""
        last = self.origin + (self.tiles - 1) * self.steps
        return Channel("starts", 1, max(1, last.bit_length()), None, self.ahead, self.delay)

    def closes(self, rank: int | None, *, placed: bool) -> Channel:
        """The queue of the stops of addresses; with places if these go another way than starts."""
        if not placed or self.places == 1:
            return Channel("closes", 0, 0, rank, self.ahead, self.delay)
        return Channel("closes", 1, index_bits(self.places), rank, self.ahead, self.delay)
