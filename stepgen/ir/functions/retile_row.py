"""retile_row: the tiles of a chunk put below one another as one tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dims import Dim, product
from stepgen.ir.dtypes import Tile, bool_
from stepgen.ir.function import NUMBERS, Function
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class RetileRow(Function):
    """Accum only: rows add up, cols must be the same; an empty chunk gives a tile without rows."""

    elements: ClassVar = (*NUMBERS, bool_)
    keeps_volume: ClassVar[bool] = True

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The tile with as many rows as the chunk has."""
        self.check(call, tiles)
        tile = tiles[0]
        if tile.cols.is_ragged:
            call.fail(f"{self} can't join tiles whose cols differ, {tile}")
        rows = product([*dims, tile.rows], call.symbols)
        return Tile(rows, tile.cols, tile.element)
