"""scale: x times a constant."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import Tile
from stepgen.ir.function import Constant, of_products
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class Scale(Constant):
    """``x * c``, 1 operation per element; int8 multiplies into int32.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        product = of_products(tiles[0])
        call.constant(str(self), self.c, product.element)
        return product
