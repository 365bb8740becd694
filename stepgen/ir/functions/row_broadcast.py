"""row_broadcast: a column repeated."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.function import Function
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class RowBroadcast(Function):
    """``[R, 1] -> [R, cols]``: the one element of each row, all along the row.

    Parameters
    ----------
    cols : int
        Columns of the result.
    """

    cols: int

    def __post_init__(self) -> None:
        if self.cols < 1:
            raise StepError(
                f"row_broadcast at {user_line()}: cols must be at least 1, not {self.cols}"
            )

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The wide tile."""
        self.check(call, tiles)
        if tiles[0].cols != 1:
            call.fail(f"{self} needs tiles of 1 column, not {tiles[0]}")
        return Tile(tiles[0].rows, self.cols, tiles[0].element)

    def keeps_rows(self, operand: int) -> bool:
        """Each becomes wider."""
        return True
