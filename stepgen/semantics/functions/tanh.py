"""tanh: hyperbolic tangent, by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Tanh(Elementwise):
    """`stepgen.semantics.tables.tanh`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("tanh", x)
