"""shift_cols: columns moved to the right."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.function import Function
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class ShiftCols(Function):
    """``[R, C]`` -> the same, column j holding what column j - by held; the first are `fill`.

    Parameters
    ----------
    by : int
        How many columns to the right.
    fill : number
        A whole number where the elements are integers.
    """

    by: int = 1
    fill: float = 0

    def __post_init__(self) -> None:
        if self.by < 1:
            raise StepError(f"shift_cols at {user_line()}: by must be at least 1, not {self.by}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        call.constant(str(self), self.fill, tiles[0].element)
        return tiles[0]

    def keeps_rows(self, operand: int) -> bool:
        """Columns move."""
        return True
