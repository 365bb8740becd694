"""Functions that find the place of an element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR
from stepgen.hw.units.locate import params as locate
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import DataType, ElementType, Tile, address, element, int32
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Folded, Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.wire import TILE_LEVELS
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array

ROW = 1
"""The wire level that ends a row."""


@dataclass(frozen=True)
class _Place(Mapped, Folded, abstract=True):
    """The number of an element that is above all others in some order, of equal ones the first."""

    to: ElementType | Literal["address", "int32"] = "address"

    extents_of: ClassVar[Literal["rows"]] = "rows"
    begins: ClassVar = False
    smallest: ClassVar[bool]

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", element(self.to))
        if self.to not in (address, int32):
            self.refuse(f"it makes address or int32, not {self.to}")

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """Tiles of a static number of columns."""
        super().check(call, tiles)
        if not tiles[0].cols.static:
            call.fail(f"{self} needs rows of a static length, at least 1, not {tiles[0]}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A number for each row."""
        self.check(call, tiles)
        if self.to == address and tiles[0].rows != 1:
            rows = f'{self.name}("int32")'
            call.fail(
                f"{self} makes an address of 1 row, not of {tiles[0]}: {rows} makes a number for "
                f"each row"
            )
        return Tile(tiles[0].rows, 1, element(self.to))

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """A number for a chunk of rows."""
        self.check(call, tiles)
        if tiles[0].rows != 1:
            call.fail(f"{self} needs tiles of 1 row, not {tiles[0]}")
        return Tile(1, 1, element(self.to))

    def _falling(self, x: Array) -> Array:
        """Numbers of which the lowest is the best; NaNs are the highest."""
        row = numbers.ordered(np.nan_to_num(numbers.canonical(x), nan=0.0))
        keys = row.astype(object) if self.smallest else -row.astype(object)
        keys[np.isnan(x.astype(np.float64))] = 1 << 64
        return keys

    def compute(self, at: Setting, x: Array) -> Array:
        """The first of the best in each row."""
        return np.asarray(np.argmin(self._falling(x), axis=1)[:, None], at.dtype)

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """Elements that have passed, the best key and its place: nothing yet."""
        return 0, None, 0

    def update(self, at: Setting, state: Any, x: Array) -> Any:
        """After one more row; of equal elements the first stays."""
        passed, best, place = state
        (keys,) = self._falling(x)
        first = int(np.argmin(keys))
        if best is None or keys[first] < best:
            best, place = keys[first], passed + first
        return passed + len(keys), best, place

    def finish(self, at: Setting, state: Any) -> Array:
        """The place."""
        return np.full((1, 1), state[2], at.dtype)

    def empty(self, at: Setting, init: float | None) -> Array:
        """There is none.

        Raises
        ------
        StepError
            Always.
        """
        raise StepError(f"{self} folds an empty chunk, which has no element")

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> locate.Locate:
        """One pass over a row."""
        return self._located(tiles[0], TILE_LEVELS if tiles[-1] == SCALAR else ROW)

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> locate.Locate:
        """One pass over a chunk."""
        x = streams[0].dtype
        assert isinstance(x, Tile)
        return self._located(x, TILE_LEVELS + rank)

    def _located(self, x: Tile, level: int) -> locate.Locate:
        assert x.cols.static is not None
        to = element(self.to).name
        return locate.Locate(x.element.name, to, x.cols.static, level, self.smallest)

    def largest_number(self, *types: DataType) -> int:
        """The last column of a row."""
        x = types[0]
        assert isinstance(x, Tile)
        return (x.cols.static or 1) - 1 if self.to == address else 0

    def keeps_rows(self, operand: int) -> bool:
        """Each row gives one element."""
        return True

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the row."""
        return tiles[0].elements


@dataclass(frozen=True)
class Argmax(_Place):
    """The number of the largest element of a row, from 0, 1 operation per element.

    As an address, ``[1, C] -> [1, 1]``, or for each row as int32, ``[R, C] -> [R, 1]``. Accum finds
    it in all tiles ``[1, C]`` of a chunk, which so may be slices of a row: element j of tile i has
    the number ``i * C + j``. Of equal elements the first is found; -0 is below +0, and a NaN below
    all numbers.

    Parameters
    ----------
    to : ElementType or its name
        Type of the result, address or int32.
    """

    smallest: ClassVar[bool] = False


@dataclass(frozen=True)
class Argmin(_Place):
    """The number of the smallest element of a row, from 0, 1 operation per element.

    As an address, ``[1, C] -> [1, 1]``, or for each row as int32, ``[R, C] -> [R, 1]``. Accum finds
    it in all tiles ``[1, C]`` of a chunk, which so may be slices of a row: element j of tile i has
    the number ``i * C + j``. Of equal elements the first is found; -0 is below +0, and a NaN above
    all numbers.

    Parameters
    ----------
    to : ElementType or its name
        Type of the result, address or int32.
    """

    smallest: ClassVar[bool] = True
