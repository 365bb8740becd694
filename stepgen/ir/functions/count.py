"""count: how many elements a chunk has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import Tile, address
from stepgen.ir.function import Function
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class Count(Function):
    """Accum and Scan only: any tiles -> a scalar address, 1 more for every element."""

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """A scalar address."""
        return self.state(call, *tiles)

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A scalar address."""
        if len(tiles) != 1:
            call.fail(f"{self} counts the elements of 1 stream, not of {len(tiles)}")
        return Tile(1, 1, address)
