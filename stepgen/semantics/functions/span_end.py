"""span_end: the last address of a range."""

from __future__ import annotations

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class SpanEnd(Meaning):
    """A range is its start and its length."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """The last address.

        Raises
        ------
        StepError
            If the range is empty.
        """
        start, length = (int(n) for n in tiles[0][0])
        if length < 1:
            raise StepError(f"{at.function} needs ranges of at least 1, but that at {start} is 0")
        return np.full((1, 1), start + length - 1, DTYPES["address"])
