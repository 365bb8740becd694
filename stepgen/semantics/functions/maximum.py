"""maximum: the larger of each pair; folds."""

from __future__ import annotations

from typing import Any

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array


class Maximum(Pairwise):
    """-0 is below +0, and a NaN makes a NaN."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.maximum(a, b)

    def identity(self, at: Setting) -> Any:
        """The lowest number of the element type."""
        return numbers.lowest(at.element)
