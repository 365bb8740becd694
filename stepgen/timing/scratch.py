"""Large arrays that the next run of a thread uses again.

To get new memory from the system takes longer than a run takes to fill it.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.int64]

ARRAYS = 4
"""How many arrays a thread keeps."""
MOST = 1 << 21
"""Words of the largest array that is kept."""

_thread = threading.local()

_UNUSED = next(sys.getrefcount(array) for array in [np.zeros(0)])
"""References to an array that only a list holds, as a loop over the list sees it."""


def scratch(words: int) -> Words:
    """An array of so many words, of any content, that nothing else refers to."""
    kept: list[Words] = _thread.__dict__.setdefault("kept", [])
    for array in kept:
        if len(array) >= words and sys.getrefcount(array) == _UNUSED:
            return array[:words]
    made = np.empty(words, np.int64)
    if words <= MOST:
        kept.append(made)
        del kept[:-ARRAYS]
    return made[:]


class Entries:
    """Entries of a log, which arrive in parts."""

    def __init__(self) -> None:
        self._words = scratch(0)
        self._count = 0

    def add(self, part: Words) -> None:
        """Append a part."""
        end = self._count + len(part)
        if end > len(self._words):
            larger = scratch(2 * end)
            larger[: self._count] = self._words[: self._count]
            self._words = larger
        self._words[self._count : end] = part
        self._count = end

    def all(self) -> Words:
        """All entries so far."""
        return self._words[: self._count].copy()
