"""mul: products of pairs; folds."""

from __future__ import annotations

from typing import Any

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array


class Mul(Pairwise):
    """Integers wrap around, floats round."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.multiply(a, b, at.element)

    def identity(self, at: Setting) -> Any:
        """One."""
        return 1
