"""square: x times x."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Square(Elementwise):
    """Integers wrap around, floats round."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.multiply(x, x, at.element)
