"""Functions that mask elements of a tile by their columns, or by their positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from stepgen.hw.units.mask import params as mask
from stepgen.ir.dtypes import NUMBERS, DataType, Tile, address
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.wire import ANY_NUMBER
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array

SCALAR = Tile(1, 1, address)
"""One address."""


@dataclass(frozen=True)
class _Masking(Mapped, abstract=True):
    """Puts a number, rounded to the element type, in place of the elements that are masked."""

    value: float

    extents_of: ClassVar[Literal["first"]] = "first"
    elements: ClassVar = NUMBERS
    told: ClassVar[str]

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """The tile is checked as for other functions, the numbers by `tile`."""
        super().check(call, [tiles[0]] * len(tiles))

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the first."""
        self.check(call, tiles)
        tile, *others = tiles
        for other in others:
            if other != SCALAR:
                call.fail(f"{self} needs {self.told} as {SCALAR}, not {other}")
        call.constant(str(self), self.value, tile.element)
        return tile

    def keeps_rows(self, operand: int) -> bool:
        """Those of the tile, where rows are not told apart."""
        return operand == 0


@dataclass(frozen=True)
class MaskCols(_Masking):
    """``[R, C]`` and a scalar address n -> columns from n on are `value`.

    Used for the scores of entries of a key cache that are not filled yet. The value is rounded to
    the element type; a count past the last column masks nothing.

    Parameters
    ----------
    value : number
        A whole number where the elements are integers.
    """

    arity: ClassVar[int] = 2
    told: ClassVar = "the number of columns"

    def compute(self, at: Setting, tile: Array, count: Array) -> Array:
        """The tile with its last columns overwritten."""
        masked = tile.copy()
        masked[:, int(count[0, 0]) :] = numbers.constant(self.value, at.element)
        return masked

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> mask.Mask | None:
        """Columns are counted."""
        return mask.of_tile(tiles[0], self.value, lanes)

    def largest_number(self, *types: DataType) -> int:
        """The columns of a tile."""
        tile = types[0]
        assert isinstance(tile, Tile)
        return tile.cols.static or 0


@dataclass(frozen=True)
class MaskCausal(_Masking):
    """``[R, C]`` and scalar addresses p and q -> elements are `value` where q + j > p + i.

    Row i is at position p + i and column j at q + j, so that a query sees no later key. With a
    window it sees only as many of the last ones: elements where p + i - q - j >= `window` are
    masked too. The value is rounded to the element type.

    Parameters
    ----------
    value : number
        A whole number where the elements are integers.
    window : int, optional
        Positions that a row sees, its own included.
    """

    window: int | None = None

    arity: ClassVar[int] = 3
    told: ClassVar = "positions of the first row and column"

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            self.refuse(f"window must be at least 1, not {self.window}")

    def keeps_rows(self, operand: int) -> bool:
        """None: what is masked depends on the number of a row."""
        return False

    def compute(self, at: Setting, tile: Array, row: Array, col: Array) -> Array:
        """The tile with later elements overwritten, and those before the window."""
        rows, cols = (np.arange(n, dtype=np.float64) for n in tile.shape)
        ahead = float(int(row[0, 0]) - int(col[0, 0])) + rows[:, None] - cols
        seen = (ahead >= 0) & (self.window is None or ahead < (self.window or 0))
        masked: Array = np.where(seen, tile, numbers.constant(self.value, at.element))
        return masked.astype(at.dtype, copy=False)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> mask.Mask | None:
        """Columns are counted from the position of the row on."""
        return mask.of_tile(tiles[0], self.value, lanes, positions=True, window=self.window)

    def largest_number(self, *types: DataType) -> int:
        """Positions have no bound."""
        return ANY_NUMBER
