"""row_max: the largest element of each row."""

from __future__ import annotations

from functools import reduce

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class RowMax(Meaning):
    """The order of comparing does not matter; a row without columns gives the lowest number."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """One column."""
        x = tiles[0]
        lowest = np.full((x.shape[0], 1), numbers.lowest(at.element), DTYPES[at.element])
        columns = [x[:, i : i + 1] for i in range(x.shape[1])]
        return reduce(numbers.maximum, columns, lowest)
