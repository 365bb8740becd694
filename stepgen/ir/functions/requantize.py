"""requantize: int32 sums back to int8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dtypes import Tile, int8, int32
from stepgen.ir.errors import StepError
from stepgen.ir.function import Unary
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class Requantize(Unary):
    """``saturate(round(x * multiplier / 2**shift))``, to the nearest, ties to even.

    Parameters
    ----------
    multiplier : int
        1 to 32767.
    shift : int
        0 to 31.
    """

    multiplier: int = 1
    shift: int = 0

    elements: ClassVar = (int32,)

    def __post_init__(self) -> None:
        if not 1 <= self.multiplier <= 32767:
            raise StepError(
                f"requantize at {user_line()}: multiplier must be within 1..32767, "
                f"not {self.multiplier}"
            )
        if not 0 <= self.shift <= 31:
            raise StepError(
                f"requantize at {user_line()}: shift must be within 0..31, not {self.shift}"
            )

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of int8."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, int8)
