"""matmul: the product of a tile and a weight tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import sympy

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Tile, bf16, f32, int8, wide
from stepgen.ir.function import Function
from stepgen.ir.operator import Call
from stepgen.ir.uniform import one_size


@dataclass(frozen=True)
class Matmul(Function):
    """``[M, K] x [K, N] -> [M, N]``; int8 multiplies into int32, bf16 into f32.

    Accum adds the products of a chunk up, over tiles of the K dim.

    Parameters
    ----------
    transpose : bool
        Whether the weight tile comes as ``[N, K]``.
    """

    transpose: bool = False

    arity: ClassVar[int] = 2
    elements: ClassVar = (int8, bf16, f32)

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile."""
        self.check(call, tiles)
        x, weight = tiles
        if x.element != weight.element:
            call.fail(f"{self} needs tiles of one element type, not {x} and {weight}")
        inner, cols = weight.dims[::-1] if self.transpose else weight.dims
        if not x.cols.same(inner):
            call.fail(
                f"{self} can't multiply the tiles {x} and {weight}, whose inner dims differ, "
                f"{x.cols} against {inner}"
            )
        return Tile(x.rows, cols, wide(x.element))

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The product's tile, which must have one size over the chunk."""
        return self.state(call, *tiles)

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile, which must have one size over the chunk."""
        product = self.tile(call, *tiles)
        if not one_size(call, product.dims):
            call.fail(f"{self} can't add products of different sizes, {product}")
        return product

    def keeps_rows(self, operand: int) -> bool:
        """Those of the first operand; the weights' are summed over, or become columns."""
        return operand == 0

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """2 M K N."""
        x, weight = tiles
        cols = weight.rows if self.transpose else weight.cols
        return 2 * x.elements * cols.expr
