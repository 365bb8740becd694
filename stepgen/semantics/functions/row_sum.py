"""row_sum: the sum of each row."""

from __future__ import annotations

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class RowSum(Meaning):
    """A tree over the lanes of a slice, then slice after slice, in the type that comes out."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """One column."""
        x = numbers.convert(tiles[0], at.element)
        start = np.zeros(x.shape[0], DTYPES[at.element])
        return numbers.lane_sum(x, at.lanes, start)[:, None]
