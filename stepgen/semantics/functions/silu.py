"""silu: x * sigmoid(x), by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Silu(Elementwise):
    """`stepgen.semantics.tables.silu`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("silu", x)
