"""span: the addresses of a range."""

from __future__ import annotations

import numpy as np

from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import DTYPES, Array


class Span(Meaning):
    """A range is its start and its length."""

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """As many scalars as the range is long."""
        start, length = (int(n) for n in element[0])
        return [np.full((1, 1), start + i, DTYPES["address"]) for i in range(length)]
