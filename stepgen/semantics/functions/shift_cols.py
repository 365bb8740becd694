"""shift_cols: columns moved to the right."""

from __future__ import annotations

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class ShiftCols(Meaning):
    """What moves past the last column is gone."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """The columns that stay, behind new ones."""
        x, by = tiles[0], at.function.parameters()["by"]
        fill = numbers.constant(at.function.parameters()["fill"], at.element)
        new = np.full((x.shape[0], min(by, x.shape[1])), fill[0, 0], DTYPES[at.element])
        return np.concatenate([new, x[:, : max(0, x.shape[1] - by)]], axis=1)
