"""Pipeline stages of the hardware's primitives, in cycles."""

from __future__ import annotations

BLOCK_RAM = 2
"""From a read address to the data: the memory itself and its output register."""

MULTIPLIER = 3
"""From the factors to the product: registers at the input, in the middle and at the output."""
