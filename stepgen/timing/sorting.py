"""Entries of a log, by what they are of."""

from __future__ import annotations

import numpy as np

from stepgen.timing import compiled, stepping
from stepgen.timing import kernel as k
from stepgen.timing.scratch import Words


def split(entries: Words, count: int) -> list[Words]:
    """Cycles of log entries by key; keys are in the low bits and below `count`."""
    if stepping.is_compiled([k.sort]):
        M = np.empty(count + len(entries), np.int64)
        M[:count] = 0
        compiled.loop(k.sort)(np.ascontiguousarray(entries), M, count, len(entries))
        ends = M[:count].tolist()
        return [M[n:end] for n, end in zip([count, *ends], ends, strict=False)]
    keys = entries & k.KEY
    if count <= 1 << 16:
        keys = keys.astype(np.uint16)  # sorted by radix, much faster
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=count))
    return np.split(entries[order] >> k.KEY_BITS, ends[:-1])
