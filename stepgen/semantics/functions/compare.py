"""compare: how two numbers are ordered, as booleans."""

from __future__ import annotations

import operator

import numpy as np

from stepgen.semantics.meaning import Pairwise, Setting
from stepgen.semantics.numbers import Array, canonical


class Compare(Pairwise):
    """-0 equals +0; a NaN differs from everything and is neither less nor greater."""

    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        relation = getattr(operator, at.function.parameters()["op"])
        return np.asarray(relation(canonical(a), canonical(b)), np.bool_)
