"""The off-chip port, and where tensors lie behind it."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.arguments import ADDRESS_BITS, Address, take_fields
from stepgen.ir.errors import StepError
from stepgen.ir.tensor import WORD

MOST_OUTSTANDING = 4096
"""Most outstanding bursts: their lengths are kept in a FIFO."""

MOST_LATENCY = 4096
"""Longest latency of a memory that FIFOs are made to cover, in cycles."""


def width_of(end: int) -> int:
    """Bits of the addresses of all bytes below `end`."""
    return max(0, end - 1).bit_length()


@dataclass(frozen=True)
class Region:
    """Address range of a tensor in off-chip memory.

    Parameters
    ----------
    base, size : int
        Address and extent in bytes.
    rows, cols : int
        Shape of the tensor in elements.
    tile : tuple of int
        Rows and columns of a tile; tiles lie one after the other in row-major order of the grid.
    element : str
        Name of the element type.
    """

    base: Address
    size: int
    rows: int
    cols: int
    tile: tuple[int, int]
    element: str

    @property
    def end(self) -> int:
        """Address behind its last byte."""
        return self.base + self.size


@dataclass(frozen=True)
class Bus:
    """Settings of the off-chip port.

    Parameters
    ----------
    data_bits : int
        Of a word.
    address_bits : int
        Of an address in bytes, from 32 to 64. Lowering makes it as wide as the memory map needs.
    burst : int
        Longest burst in words.
    outstanding : int
        Most bursts in flight, of reads and of writes each.
    latency : int
        Cycles from a read's address to its first word that loads and accesses by address cover.
    """

    data_bits: int = 8 * WORD
    address_bits: int = 32
    burst: int = 16
    outstanding: int = 8
    latency: int = 16

    def __post_init__(self) -> None:
        take_fields(self)
        if self.data_bits not in (32, 64, 128, 256, 512, 1024):
            raise StepError(
                f"bus: data width must be a power of two from 32 to 1024 bits, not {self.data_bits}"
            )
        if not 32 <= self.address_bits <= ADDRESS_BITS:
            raise StepError(
                f"bus: an address has 32 to {ADDRESS_BITS} bits, not {self.address_bits}"
            )
        if not 1 <= self.burst <= min(256, 4096 // self.bytes) or self.burst & (self.burst - 1):
            raise StepError(
                f"bus: a burst must be a power of two of at most 256 beats and 4096 bytes, "
                f"not {self.burst} beats of {self.bytes} bytes"
            )
        if not 1 <= self.latency <= MOST_LATENCY:
            raise StepError(
                f"bus: a latency of 1 to {MOST_LATENCY:,} cycles can be covered, not "
                f"{self.latency:,}"
            )
        if self.outstanding < 1:
            raise StepError(f"bus: at least 1 read must be in flight, not {self.outstanding}")
        if self.outstanding > MOST_OUTSTANDING:
            raise StepError(
                f"bus: at most {MOST_OUTSTANDING:,} reads can be in flight, not "
                f"{self.outstanding:,}"
            )

    @property
    def bytes(self) -> int:
        """Bytes of one bus word."""
        return self.data_bits // 8
