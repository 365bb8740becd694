"""div: quotients of pairs, x times the tabulated reciprocal of y, rounded once."""

from __future__ import annotations

from stepgen.semantics import tables
from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array


class Div(Pairwise):
    """`stepgen.semantics.tables.div`."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return tables.div(a, b)
