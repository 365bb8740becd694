"""Functions that mask elements of a tile by their columns, rows, or positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR
from stepgen.hw.units.mask import params as mask
from stepgen.hw.units.mask.params import By
from stepgen.ir.dtypes import NUMBERS, DataType, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.wire import ANY_NUMBER
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array


@dataclass(frozen=True)
class _Masking(Mapped, abstract=True):
    """Puts a number, rounded to the element type, in place of the elements that are masked."""

    value: float
    window: int | None = None
    most: int | None = None

    extents_of: ClassVar[Literal["first"]] = "first"
    elements: ClassVar = NUMBERS
    any_columns: ClassVar = True
    by: ClassVar[By]
    positions: ClassVar[str]

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            self.refuse(f"window must be at least 1, not {self.window}")
        if self.most is not None and not 0 <= self.most <= ANY_NUMBER:
            self.refuse(f"most must be a number from 0 to {ANY_NUMBER}, not {self.most}")

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """The tile is checked as for other functions, the numbers by `tile`."""
        super().check(call, [tiles[0]] * len(tiles))

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the first."""
        self.check(call, tiles)
        tile, *others = tiles
        counted = len(others) == 1
        number = f"number of {'columns' if self.by == 'cols' else self.by}"
        needed = f"the {number}" if counted else self.positions
        for other in others:
            if other != SCALAR:
                call.fail(f"{self} needs {needed} as {SCALAR}, not {other}")
        if counted and self.window is not None:
            call.fail(
                f"{self} has a window, so it needs 2 addresses, {self.positions}, not a {number}"
            )
        if counted and self.most is not None:
            call.fail(
                f"{self} says how large positions are, so it needs 2 addresses, {self.positions}, "
                f"not a {number}"
            )
        call.constant(str(self), self.value, tile.element)
        return tile

    @property
    def largest_position(self) -> int:
        """The largest number that a position may be."""
        return ANY_NUMBER if self.most is None else self.most

    def passed(self, rows: int, cols: int) -> Array:
        """What is taken from the distance of positions, broadcast to the tile."""
        row, col = np.arange(rows)[:, None], np.arange(cols)[None]
        return {"cols": col, "rows": row, "both": col - row}[self.by]

    def compute(self, at: Setting, tile: Array, *bounds: Array) -> Array:
        """The tile with elements overwritten."""
        last, *first = (int(number[0, 0]) for number in bounds)
        if self.most is not None and max(last, *first) > self.most:
            raise StepError(
                f"{self} takes positions of at most {self.most}, not {max(last, *first)}"
            )
        apart = last - first[0] if first else last - 1
        passed = self.passed(*tile.shape)
        kept = passed <= apart
        if self.window is not None:
            kept &= passed > apart - self.window
        masked: Array = np.where(kept, tile, numbers.constant(self.value, at.element))
        return masked.astype(at.dtype, copy=False)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> mask.Mask | None:
        """Rows and columns are counted."""
        positions = len(without_stops) > 2
        return mask.of_tile(tiles[0], self.value, lanes, self.by, positions, self.window)


@dataclass(frozen=True)
class MaskCols(_Masking):
    """``[R, C]`` and a scalar address n -> columns from n on are `value`.

    Used for the scores of entries of a key cache that are not filled yet. The value is rounded to
    the element type; a count past the last column masks nothing.

    With two addresses p and q in place of n, column j is at position q + j, and columns behind p
    are masked: those where q + j > p. With a window so are those where p - q - j >= `window`. All
    rows are at p, such as the heads of one query.

    Parameters
    ----------
    value : number
        A whole number where the elements are integers.
    window : int, optional
        Positions that are kept, p included; it needs p and q.
    most : int, optional
        The largest number that p and q may be, so that addresses take fewer bits. The reference
        refuses larger ones; a circuit relies on it.
    """

    arity: ClassVar[int] = 2
    optional: ClassVar[int] = 1
    by: ClassVar = "cols"
    positions: ClassVar = "the last position that is kept and that of the first column"

    def keeps_rows(self, operand: int) -> bool:
        """Those of the tile, where rows are not distinguished."""
        return operand == 0

    def largest_number(self, *types: DataType) -> int:
        """The columns of a tile, if they are bounded, or the largest position."""
        tile = types[0]
        assert isinstance(tile, Tile)
        cols = tile.cols.bound if len(types) == 2 else None
        return self.largest_position if cols is None else min(cols, ANY_NUMBER)


@dataclass(frozen=True)
class MaskRows(_Masking):
    """``[R, C]`` and a scalar address n -> rows from n on are `value`.

    Used for rows of a cache that nobody has written yet: a product with 0 would keep the NaNs that
    may be there. The value is rounded to the element type; a count past the last row masks nothing.

    With two addresses p and q in place of n, row i is at position q + i, and rows behind p are
    masked: those where q + i > p. With a window so are those where p - q - i >= `window`.

    Parameters
    ----------
    value : number
        A whole number where the elements are integers.
    window : int, optional
        Positions that are kept, p included; it needs p and q.
    most : int, optional
        The largest number that p and q may be, so that addresses take fewer bits. The reference
        refuses larger ones; a circuit relies on it.
    """

    arity: ClassVar[int] = 2
    optional: ClassVar[int] = 1
    by: ClassVar = "rows"
    positions: ClassVar = "the last position that is kept and that of the first row"

    def largest_number(self, *types: DataType) -> int:
        """The rows of a tile, if they are bounded, or the largest position."""
        tile = types[0]
        assert isinstance(tile, Tile)
        rows = tile.rows.bound if len(types) == 2 else None
        return self.largest_position if rows is None else min(rows, ANY_NUMBER)


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
    most : int, optional
        The largest number that p and q may be, so that addresses take fewer bits. The reference
        refuses larger ones; a circuit relies on it.
    """

    arity: ClassVar[int] = 3
    by: ClassVar = "both"
    positions: ClassVar = "positions of the first row and column"

    def largest_number(self, *types: DataType) -> int:
        """The largest position."""
        return self.largest_position
