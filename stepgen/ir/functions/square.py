"""square: x * x."""

from __future__ import annotations

from stepgen.ir.dtypes import Tile
from stepgen.ir.function import Unary, of_products
from stepgen.ir.operator import Call


class Square(Unary):
    """``x * x``, 1 operation per element; int8 multiplies into int32."""

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        return of_products(super().tile(call, *tiles))
