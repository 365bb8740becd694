"""gelu: x * Phi(x), the exact GELU, by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Gelu(Elementwise):
    """`stepgen.semantics.tables.gelu`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("gelu", x)
