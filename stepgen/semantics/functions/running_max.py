"""running_max: the largest element so far, along each row."""

from __future__ import annotations

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class RunningMax(Elementwise):
    """From left to right; what decays is rounded, or wraps around, at every column."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All rows at once."""
        decay = numbers.constant(-at.function.parameters()["c"], at.element)
        columns = [x[:, :1]]
        for j in range(1, x.shape[1]):
            last = numbers.add(columns[-1], decay, at.element)
            columns.append(numbers.maximum(x[:, j : j + 1], last))
        return np.concatenate(columns, axis=1)
