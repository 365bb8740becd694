"""row_sum: the sum of each row."""

from __future__ import annotations

import sympy

from stepgen.ir.dtypes import Tile, wide
from stepgen.ir.function import Function
from stepgen.ir.operator import Call


class RowSum(Function):
    """``[R, C] -> [R, 1]``, 1 operation per element; int8 sums are int32, bf16 sums f32."""

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """One column."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, 1, wide(tiles[0].element))

    def keeps_rows(self, operand: int) -> bool:
        """Each gives one element."""
        return True

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """1 per element of the input."""
        return tiles[0].elements
