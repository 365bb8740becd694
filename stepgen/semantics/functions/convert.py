"""convert: numbers of one element type as those of another."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Convert(Elementwise):
    """`stepgen.semantics.numbers.convert`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.convert(x, at.element)
