"""span_end: the last address of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dtypes import Tile, address
from stepgen.ir.function import Function
from stepgen.ir.functions.span import RANGE
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class SpanEnd(Function):
    """``(start, length)`` -> start + length - 1; the length has to be at least 1."""

    elements: ClassVar = (address,)

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A scalar address."""
        self.check(call, tiles)
        if tiles[0] != RANGE:
            call.fail(f"{self} needs ranges ({RANGE}: start and length), not {tiles[0]}")
        return Tile(1, 1, address)
