"""Static facts of a FIFO: what its memory kinds hold beside the beats at their heads."""

from __future__ import annotations

from ..design import BLOCKRAM, Channel

AHEAD = 4
"""Beats that a block RAM FIFO reads ahead: covers the cycles from a pop to the next arrival."""


def memory_bits(channel: Channel) -> int:
    """Bits of memory; the beat at the head is in a register of its own."""
    rows = channel.depth + AHEAD - 1 if channel.memory == BLOCKRAM else channel.depth - 1
    return rows * channel.width
