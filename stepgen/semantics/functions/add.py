"""add: sums of pairs; folds."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array


class Add(Pairwise):
    """Integers wrap around, floats round."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.add(a, b, at.element)
