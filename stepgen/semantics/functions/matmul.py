"""matmul: the product of a tile and a weight tile, adding slices in the order of the hardware."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.semantics import numbers
from stepgen.semantics.meaning import Meaning, Setting, say
from stepgen.semantics.numbers import Array


class Matmul(Meaning):
    """Products go through a tree over the lanes of a slice, then slices in increasing k.

    Folding goes on with the same accumulators, so tiles of K in a row add up like one long K.
    """

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """A product from accumulators at zero."""
        rows, cols = self.extents(at, *tiles)
        product: Array = self.update(at, self.start(at, rows, cols, None), *tiles)
        return product

    def extents(self, at: Setting, *tiles: Array) -> tuple[int, int]:
        """Rows of the operand, columns of the weight."""
        x, weight = tiles
        return x.shape[0], weight.shape[0 if at.function.parameters()["transpose"] else 1]

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """One more tile of K."""
        x, weight = tiles
        if at.function.parameters()["transpose"]:
            weight = weight.T
        if x.shape[1] != weight.shape[0]:
            raise StepError(f"{at.function} can't multiply tiles of {say(x)} and {say(weight)}")
        if state.shape != (x.shape[0], weight.shape[1]):
            raise StepError(
                f"{at.function} can't add products of {say(x)} and {say(weight)} to {say(state)}"
            )
        return numbers.matmul(np.ascontiguousarray(x), weight, at.lanes, state)
