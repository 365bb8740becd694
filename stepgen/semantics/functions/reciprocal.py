"""reciprocal: 1 / x, by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Reciprocal(Elementwise):
    """`stepgen.semantics.tables.reciprocal`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("reciprocal", x)
