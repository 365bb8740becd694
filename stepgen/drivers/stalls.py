"""In which cycles a port or a channel of the memory stalls: pseudo-random, but predictable.

The functions take integers or arrays of 64 bits, and stepgen compiles them for its cycle model.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

MASK = 0xFFFFFFFF
_BLOCK = 4096


def mix(x: Any) -> Any:
    """Scramble 32 bits (the finalizer of MurmurHash3)."""
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & MASK
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & MASK
    return x ^ (x >> 16)


def stalled(key: int, threshold: int, cycle: Any) -> Any:
    """Whether a channel stalls in a cycle, or in each cycle of an array of uint64.

    Parameters
    ----------
    key, threshold : int
        32 bits each: what decides the cycles, and how many of them stall, of 2**32.
    cycle : int or array
        Cycle of the run; only its low 32 bits are used.
    """
    return mix((key + cycle * 0x9E3779B1) & MASK) < threshold


def key_and_threshold(name: str, share: float, seed: int) -> tuple[int, int]:
    """What `stalled` takes for a channel of this name that stalls in a share of the cycles."""
    key = mix((seed + mix(zlib.crc32(name.encode()))) & MASK)
    return key, min(round(share * 2**32), MASK)


class Stalls:
    """The stalled cycles of one channel.

    Parameters
    ----------
    key, threshold : int
        32 bits each: what decides the cycles, and how many of them stall, of 2**32.
    late : int
        Cycles of a run before which the channel always stalls.
    """

    def __init__(self, key: int = 0, threshold: int = 0, late: int = 0):
        self._key, self._threshold, self._late = key, threshold, late
        self._start, self._mask = -_BLOCK, b""

    @classmethod
    def share(cls, name: str, share: float, seed: int = 0) -> Stalls:
        """A channel of this name that stalls in a share of the cycles, from 0 to below 1."""
        return cls(*key_and_threshold(name, share, seed))

    def stalled(self, cycle: int) -> bool:
        """Whether the channel stalls in this cycle of a run."""
        if cycle < self._late:
            return True
        if not self._threshold:
            return False
        if not 0 <= cycle - self._start < _BLOCK:
            self._start = cycle
            cycles = np.arange(cycle, cycle + _BLOCK, dtype=np.uint64)
            self._mask = stalled(self._key, self._threshold, cycles).tobytes()
        return bool(self._mask[cycle - self._start])
