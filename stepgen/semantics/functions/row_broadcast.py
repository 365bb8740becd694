"""row_broadcast: the one element of each row, all along the row."""

from __future__ import annotations

import numpy as np

from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import Array


class RowBroadcast(Meaning):
    """Values stay as they are."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """``[R, 1]`` becomes ``[R, cols]``."""
        return np.repeat(tiles[0], at.function.parameters()["cols"], axis=1)
