"""In which cycles a port or a channel of the memory stalls: pseudo-random, but predictable."""

from __future__ import annotations

import zlib

import numpy as np
import numpy.typing as npt

MASK = 0xFFFFFFFF
_BLOCK = 4096


def mixed(x: int) -> int:
    """Scramble 32 bits."""
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & MASK
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & MASK
    return x ^ (x >> 16)


def stall_mask(key: int, threshold: int, start: int, count: int) -> npt.NDArray[np.bool_]:
    """Whether a channel stalls, for the cycles `start` to `start + count - 1` of a run.

    Returns
    -------
    bool array of shape [count]
    """
    cycles = np.arange(start, start + count, dtype=np.int64).astype(np.uint32)
    x = np.uint32(key) + cycles * np.uint32(0x9E3779B1)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray((x ^ (x >> np.uint32(16))) < threshold)


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
        key = mixed((seed + mixed(zlib.crc32(name.encode()))) & MASK)
        return cls(key, min(round(share * 2**32), MASK))

    def stalled(self, cycle: int) -> bool:
        """Whether the channel stalls in this cycle of a run."""
        if cycle < self._late:
            return True
        if not self._threshold:
            return False
        if not 0 <= cycle - self._start < _BLOCK:
            self._start = cycle
            mask = stall_mask(self._key, self._threshold, cycle, _BLOCK)
            self._mask = mask.tobytes()
        return bool(self._mask[cycle - self._start])
