"""retile_col: the tiles of a chunk put beside one another as one tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dims import Dim, product
from stepgen.ir.dtypes import Tile, bool_
from stepgen.ir.function import NUMBERS, Function
from stepgen.ir.operator import Call
from stepgen.ir.uniform import one_size


@dataclass(frozen=True)
class RetileCol(Function):
    """Accum only: cols add up, rows must be the same; an empty chunk gives a tile without cols."""

    elements: ClassVar = (*NUMBERS, bool_)
    keeps_volume: ClassVar[bool] = True

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The tile with as many cols as the chunk has."""
        self.check(call, tiles)
        tile = tiles[0]
        if not one_size(call, [tile.rows]):
            call.fail(f"{self} can't join tiles whose rows differ, {tile}")
        cols = product([*dims, tile.cols], call.symbols)
        return Tile(tile.rows, cols, tile.element)

    def keeps_rows(self, operand: int) -> bool:
        """Each becomes wider."""
        return True
