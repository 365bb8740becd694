"""mul: products of pairs; folds."""

from __future__ import annotations

from stepgen.ir.dtypes import Tile
from stepgen.ir.function import Folding, of_products
from stepgen.ir.operator import Call


class Mul(Folding):
    """``a * b`` element by element, 1 operation each; int8 multiplies into int32."""

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The tile of both shapes together."""
        return of_products(super().tile(call, *tiles))

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the input's shape."""
        return of_products(super().state(call, *tiles))
