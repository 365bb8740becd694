"""retile_streamify: a tile cut into its rows or columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dims import Dim, static
from stepgen.ir.dtypes import DataType, Tile, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.function import NUMBERS, Function, Pieces
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class RetileStreamify(Function):
    """FlatMap only: rank 0 strings the pieces of all tiles together, rank 1 keeps each tile's.

    Parameters
    ----------
    axis : {"row", "col"}
        ``[R, C]`` becomes R tiles ``[1, C]`` or C tiles ``[R, 1]``.
    """

    axis: str = "row"

    elements: ClassVar = (*NUMBERS, bool_)

    def __post_init__(self) -> None:
        if self.axis not in ("row", "col"):
            raise StepError(
                f'retile_streamify at {user_line()}: axis must be "row" or "col", not {self.axis!r}'
            )

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[R]`` of rows or ``[C]`` of columns; with a leading 1 for rank 1."""
        assert isinstance(element, Tile)
        tile = element
        self.check(call, [tile])
        if rank > 1:
            call.fail(f"{self} makes streams of rank 0 or 1, not {rank}")
        piece = (
            Tile(1, tile.cols, tile.element)
            if self.axis == "row"
            else Tile(tile.rows, 1, tile.element)
        )
        return Pieces(((static(1),) * rank + (self._pieces(tile),)), piece)

    def may_vanish(self, element: DataType) -> bool:
        """Whether a tile can have no rows, or no columns."""
        assert isinstance(element, Tile)
        return self._pieces(element).may_be_empty

    def _pieces(self, tile: Tile) -> Dim:
        return tile.rows if self.axis == "row" else tile.cols
