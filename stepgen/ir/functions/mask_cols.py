"""mask_cols: the columns behind the valid ones overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.function import NUMBERS, Function
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class MaskCols(Function):
    """``[R, C]`` and a scalar address n -> columns from n on are `value`.

    Such as the scores of the places in a key cache that are not filled yet.

    Parameters
    ----------
    value : number
        A whole number where the elements are integers.
    """

    value: float

    arity: ClassVar[int] = 2
    elements: ClassVar = (*NUMBERS, address)

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the first."""
        self.check(call, tiles)
        tile, count = tiles
        if count != Tile(1, 1, address):
            call.fail(f"{self} needs the number of columns as {Tile(1, 1, address)}, not {count}")
        call.constant(str(self), self.value, tile.element)
        return tile

    def keeps_rows(self, operand: int) -> bool:
        """Those of the tile, whose columns are masked."""
        return operand == 0
