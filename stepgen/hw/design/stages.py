"""Pipeline stages of the hardware's primitives, in cycles."""

from __future__ import annotations

BLOCK_RAM = 2
"""From a read address to the data: the memory and its output register."""

MUX_WAYS = 8
"""Inputs of a multiplexer in one stage."""

MULTIPLIER = 3
"""From the factors to the product: registers at the input, in the middle and at the output."""

MULTIPLIER_BITS = 18
"""Width of a hardware multiplier's factors."""

LUT_ROM_BITS = 3072
"""Up to this size a table of constants is made of LUTs."""

RESET_LAG = 2
"""From what clears the parts of a design to their reset."""


def multiplexer(ways: int) -> int:
    """Register stages of a multiplexer with `ways` inputs, `MUX_WAYS` to one in each stage."""
    count = 0
    while ways > MUX_WAYS:
        ways = -(-ways // MUX_WAYS)
        count += 1
    return count


def rom(bits: int) -> int:
    """From the address to the data of a table of constants."""
    return 1 if bits <= LUT_ROM_BITS else BLOCK_RAM
