"""place_row: one row of a tile replaced."""

from __future__ import annotations

from stepgen.ir.errors import StepError
from stepgen.semantics.meaning import Meaning, Setting, say
from stepgen.semantics.numbers import Array


class PlaceRow(Meaning):
    """The other rows stay as they are."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """The tile with one row replaced.

        Raises
        ------
        StepError
            If the tile has no such row.
        """
        tile, row, index = tiles
        number = int(index[0, 0])
        if number >= tile.shape[0]:
            raise StepError(f"{at.function} can't replace row {number} of a tile of {say(tile)}")
        placed = tile.copy()
        placed[number] = row[0]
        return placed
