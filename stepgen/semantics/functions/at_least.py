"""at_least: the larger of each element and a constant."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import DTYPES, Array


class AtLeast(Elementwise):
    """The constant is rounded to the element type first; a NaN stays a NaN."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        c = numbers.constant(at.function.parameters()["c"], at.element)
        return numbers.maximum(x, c.astype(DTYPES[at.element]))
