"""mask_cols: the columns behind the valid ones overwritten."""

from __future__ import annotations

from stepgen.semantics import numbers
from stepgen.semantics.meaning import Meaning, Setting
from stepgen.semantics.numbers import Array


class MaskCols(Meaning):
    """The value is rounded to the element type; a count past the last column masks nothing."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """The tile with its last columns overwritten."""
        tile, count = tiles
        masked = tile.copy()
        value = at.function.parameters()["value"]
        masked[:, int(count[0, 0]) :] = numbers.constant(value, at.element)
        return masked
