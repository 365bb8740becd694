"""Pipeline stages of the hardware's primitives, in cycles."""

from __future__ import annotations

BLOCK_RAM = 2
"""From a read address to the data: the memory and its output register."""

MUX_WAYS = 8
"""Inputs of a multiplexer in one stage."""

MULTIPLIER = 3
"""From the factors to the product: registers at the input, in the middle and at the output."""


def multiplexer(ways: int) -> int:
    """Register stages of a multiplexer with `ways` inputs, `MUX_WAYS` to one in each stage."""
    count = 0
    while ways > MUX_WAYS:
        ways = -(-ways // MUX_WAYS)
        count += 1
    return count
