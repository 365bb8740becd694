"""sqrt: square root, by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Sqrt(Elementwise):
    """`stepgen.semantics.tables.sqrt`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("sqrt", x)
