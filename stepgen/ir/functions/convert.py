"""convert: another element type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.dtypes import ElementType, Tile, address, bool_, element
from stepgen.ir.errors import StepError
from stepgen.ir.function import NUMBERS, Unary
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class Convert(Unary):
    """Each number as one of another type: the nearest, ties to even, integers saturate.

    Parameters
    ----------
    to : ElementType or str
        The type that comes out; 1 operation per element.
    """

    to: ElementType | str

    elements: ClassVar = (*NUMBERS, bool_, address)

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", element(self.to))
        if self.to not in NUMBERS:
            names = ", ".join(str(e) for e in NUMBERS)
            raise StepError(f"convert at {user_line()}: it makes {names}, not {self.to}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, element(self.to))
