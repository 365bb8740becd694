"""rsqrt: 1 / sqrt(x), by table."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Elementwise, Setting
from stepgen.semantics.numbers import Array


class Rsqrt(Elementwise):
    """`stepgen.semantics.tables.rsqrt`."""

    def apply(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply("rsqrt", x)
