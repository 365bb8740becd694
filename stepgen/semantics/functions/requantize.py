"""requantize: int32 sums back to int8, rounded to nearest even and saturated."""

from __future__ import annotations

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Requantize(Elementwise):
    """``saturate(round(x * multiplier / 2**shift))`` in integers."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        parameters = at.function.parameters()
        product = x.astype(np.int64) * parameters["multiplier"]
        return numbers.saturate(numbers.shift_round(product, parameters["shift"]), at.element)
