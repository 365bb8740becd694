"""sub: differences of pairs."""

from __future__ import annotations

import numpy as np

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array


class Sub(Pairwise):
    """Integers wrap around, floats round."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.elementwise(np.subtract, at.element, a, b)
