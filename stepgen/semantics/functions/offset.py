"""offset: x plus a constant."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Offset(Elementwise):
    """The constant is rounded to the element type first; integers wrap around."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        c = numbers.constant(at.function.parameters()["c"], at.element)
        return numbers.add(x, c, at.element)
