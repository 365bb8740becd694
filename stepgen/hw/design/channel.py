"""The row of a channel: a FIFO between two units."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stepgen.hw.design import older
from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError
from stepgen.ir.records import record
from stepgen.ir.wire import KIND_BITS, stop_bits

REGISTERS, LUTRAM, BLOCKRAM = "registers", "lutram", "blockram"
LEAST_DEPTH = 2
"""Depth of a FIFO of two registers, of which one is at the head."""

MOST_DEPTH = 1 << 20
"""Greatest depth of a FIFO in beats: more than the on-chip memory of any FPGA holds."""

MEMORY_LATENCY = {REGISTERS: 1, LUTRAM: 1, BLOCKRAM: 3}
"""Cycles from a push until the beat is at the head, by kind of memory."""

SHALLOW = 32
"""Most rows of a memory that is LUT RAM where there is any."""

MOST_SHALLOW, FEW_BITS = 64, 1024
"""A FIFO of up to so many beats is LUT RAM if it holds fewer bits than that: a block would save
fewer LUTs than a device has for each of its blocks."""


def memory_kind(depth: int, width: int) -> str:
    """Kind of memory of a FIFO of `depth` beats of `width` bits."""
    if depth <= LEAST_DEPTH:
        return REGISTERS
    small = depth <= SHALLOW or (depth <= MOST_SHALLOW and depth * width < FEW_BITS)
    return LUTRAM if small else BLOCKRAM


@dataclass(frozen=True)
class Channel:
    """A FIFO between two units.

    Parameters
    ----------
    name : str
        Unique in the design.
    lanes, bits : int
        Lanes of a beat and bits of one lane; both 0 for a channel that carries structure only.
    rank : int or None
        Highest wire stop level. None for a raw channel: words without structure (bus requests,
        bus words), whose payload is `bits` wide.
    depth : int
        Beats that the FIFO holds, at least 2, beats inside a pipelined producer included.
    delay : int
        Stages of the producer's pipeline between handshake and payload, in cycles.
    element : str
        Element type of a lane, for reports and test benches; empty for the one of as many bits that
        is not a float.
    tail : int
        Lanes that the last beat of a row fills, the others are padding; 0 if it fills all.
    short : bool
        Whether that beat is the whole row. Then the FIFO does not store the padding, which leaves
        it as zeros.
    value_bits : int
        Bits of a lane that its values need, in two's complement; 0 if they need all. The others are
        copies of the sign, which the FIFO does not store.
    """

    name: str
    lanes: int
    bits: int
    rank: int | None
    depth: int = 2
    delay: int = 0
    element: str = ""
    tail: int = 0
    short: bool = False
    value_bits: int = 0

    def __post_init__(self) -> None:
        take_fields(self)
        if self.depth < LEAST_DEPTH:
            raise StepError(
                f"channel {self.name}: a FIFO needs a depth of at least {LEAST_DEPTH}, not "
                f"{self.depth}"
            )
        if self.depth > MOST_DEPTH:
            raise StepError(
                f"channel {self.name}: a FIFO holds at most {MOST_DEPTH:,} beats, not "
                f"{self.depth:,}"
            )
        if min(self.lanes, self.bits, self.delay, self.rank or 0) < 0:
            raise StepError(
                f"channel {self.name}: lanes, bits, rank and delay must be at least 0, not "
                f"{self.lanes}, {self.bits}, {self.rank} and {self.delay}"
            )
        if self.tail and not 0 < self.tail < self.lanes:
            raise StepError(
                f"channel {self.name}: a row can't end at lane {self.tail} of {self.lanes}"
            )
        if self.short and not self.tail:
            raise StepError(f"channel {self.name}: rows that fill a beat are not short")
        if self.value_bits and not self.stop_bits < self.value_bits < self.bits:
            raise StepError(
                f"channel {self.name}: values of lanes of {self.bits} bits, which have a level of "
                f"{self.stop_bits} bits in an empty token, can't be {self.value_bits} bits wide"
            )

    @classmethod
    def from_record(cls, data: Any, what: str) -> Channel:
        """The channel of a table, which an earlier version may have written."""
        return record(older.channel(data), cls, what)

    @property
    def memory(self) -> str:
        """Kind of memory, by depth and width."""
        return memory_kind(self.depth, self.stored.width)

    @property
    def latency(self) -> int:
        """Cycles from the producer's handshake until the beat is at the head of the FIFO."""
        return self.delay + MEMORY_LATENCY[self.memory]

    def pipelined(self, delay: int) -> Channel:
        """The channel behind a pipeline of `delay` cycles, deep enough for one beat per cycle."""
        memory = memory_kind(delay + 2, self.stored.width)
        least = delay + MEMORY_LATENCY[memory] + 1 if delay else 0
        return dataclasses.replace(self, delay=delay, depth=max(self.depth, least))

    @property
    def data_bits(self) -> int:
        """Width of the data field; wide enough for the level in an empty token."""
        if self.rank is None:
            return self.bits
        return max(self.lanes * self.bits, stop_bits(self.rank))

    @property
    def stop_bits(self) -> int:
        """Width of the stop field; 0 for a raw channel."""
        return 0 if self.rank is None else stop_bits(self.rank)

    @property
    def carries(self) -> str:
        """What a beat carries beside its structure, and what of it the FIFO stores, in words."""
        if self.rank is None:
            return f"{self.bits} bits"
        stored = self.stored
        kept = "" if stored is self else f" ({stored.lanes} x {stored.bits} stored)"
        return f"{self.lanes} x {self.bits} bits{kept}"

    @property
    def width(self) -> int:
        """Width of the payload in bits."""
        return self.data_bits + (0 if self.rank is None else KIND_BITS + self.stop_bits)

    @property
    def stored(self) -> Channel:
        """What the FIFO stores: lanes that hold columns, and bits that values need."""
        if not self.short and not self.value_bits:
            return self
        return dataclasses.replace(
            self,
            lanes=self.tail if self.short else self.lanes,
            bits=self.value_bits or self.bits,
            tail=0 if self.short else self.tail,
            short=False,
            value_bits=0,
        )

    @property
    def memory_bits(self) -> int:
        """Bits of memory of the FIFO, without registers of the beat at the head."""
        return self.memory_bits_of(self.depth)

    def memory_bits_of(self, depth: int) -> int:
        """Bits of memory if the FIFO were so deep."""
        rows = depth - 1 if depth == LEAST_DEPTH else depth
        return rows * self.stored.width
