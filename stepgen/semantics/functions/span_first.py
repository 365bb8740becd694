"""span_first: selectors that tell the first address of a range from the others."""

from __future__ import annotations

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import Array


class SpanFirst(Meaning):
    """A range is its start and its length."""

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """As many selectors as the range is long.

        Raises
        ------
        StepError
            If the range is empty.
        """
        start, length = (int(n) for n in element[0])
        if length < 1:
            raise StepError(f"{at.function} needs ranges of at least 1, but that at {start} is 0")
        return [np.array([i == 0, i > 0]) for i in range(length)]
