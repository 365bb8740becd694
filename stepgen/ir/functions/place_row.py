"""place_row: one row of a tile replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.function import NUMBERS, Function
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class PlaceRow(Function):
    """``[R, C]``, a row ``[1, C]`` and a scalar address i -> the tile with that as its row i."""

    arity: ClassVar[int] = 3
    elements: ClassVar = (*NUMBERS, address)

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the first."""
        self.check(call, tiles)
        tile, row, index = tiles
        if index != Tile(1, 1, address):
            call.fail(f"{self} needs the number of a row as {Tile(1, 1, address)}, not {index}")
        fits = row.rows == 1 and row.cols.same(tile.cols)
        if not fits or row.element != tile.element:
            call.fail(f"{self} can't place {row} as a row of {tile}")
        return tile
