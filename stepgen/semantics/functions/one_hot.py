"""one_hot: a selector taken apart into its bits."""

from __future__ import annotations

import numpy as np

from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import Array


class OneHot(Meaning):
    """A selector without bits becomes nothing."""

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """One selector for each bit that is set."""
        return list(np.eye(len(element), dtype=np.bool_)[element])
