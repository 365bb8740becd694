"""Functions that move elements: join tiles, place rows and columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.pack_cols.params import PackCols
from stepgen.hw.units.pcu import params as pcu
from stepgen.hw.units.place_row import params as place_row
from stepgen.hw.units.retile_col import params as retile_col
from stepgen.hw.units.rotate_pairs import params as rotate_pairs
from stepgen.hw.units.shift_cols import params as shift_cols
from stepgen.ir.dims import Dim, buffer_bound, held_at_once, product
from stepgen.ir.dtypes import NUMBERS, DataType, Tile, address, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Folded, Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.uniform import one_size
from stepgen.ir.wire import ANY_NUMBER, TILE_LEVELS, wire_levels
from stepgen.semantics import numbers
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import Array


class _Joining(Folded, abstract=True):
    """Joins the tiles of a chunk; the state is the list of tiles so far."""

    elements: ClassVar = (*NUMBERS, bool_)
    gathers: ClassVar[bool] = True

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """No tiles."""
        return []

    def update(self, at: Setting, state: Any, x: Array) -> Any:
        """One more tile, whose size must match the others."""
        same, other = (1, "cols") if self.grows == "rows" else (0, "rows")
        if state and state[0].shape[same] != x.shape[same]:
            raise StepError(
                f"{self} can't join tiles of {say(state[0])} and {say(x)}, whose {other} differ"
            )
        state.append(x)
        return state

    def finish(self, at: Setting, state: Any) -> Array:
        """The joined tile."""
        return np.concatenate(state, axis=0 if self.grows == "rows" else 1)


@dataclass(frozen=True)
class RetileRow(_Joining):
    """Accum only: rows add up, cols must be the same; an empty chunk gives a tile without rows."""

    grows: ClassVar[Literal["rows"]] = "rows"

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The tile with as many rows as the chunk has."""
        self.check(call, tiles)
        tile = tiles[0]
        if tile.cols.is_ragged:
            call.fail(f"{self} can't join tiles whose cols differ, {tile}")
        rows = product([*dims, tile.rows], call.symbols)
        return Tile(rows, tile.cols, tile.element)

    def empty(self, at: Setting, init: float | None) -> Array:
        """A tile without rows."""
        cols = at.tile.cols.static
        if cols is None:
            raise StepError(f"{self} folds an empty chunk, and its cols are not known")
        return np.zeros((0, cols), at.dtype)

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> Flatten:
        """Rewrites stops only: rows of all tiles are rows of one."""
        x = streams[0]
        assert isinstance(x.dtype, Tile)
        inner = [x.dtype.rows, *(x.dim(level) for level in range(rank - 1))]
        return Flatten(lo=1, hi=1 + rank, hold=any(d.may_be_empty for d in inner))


@dataclass(frozen=True)
class RetileCol(_Joining):
    """Accum only: cols add up, rows must be the same; an empty chunk gives a tile without cols."""

    grows: ClassVar[Literal["cols"]] = "cols"

    def accumulator(self, call: Call, dims: Sequence[Dim], *tiles: Tile) -> Tile:
        """The tile with as many cols as the chunk has."""
        self.check(call, tiles)
        tile = tiles[0]
        if not one_size(call, [tile.rows]):
            call.fail(f"{self} can't join tiles whose rows differ, {tile}")
        cols = product([*dims, tile.cols], call.symbols)
        return Tile(tile.rows, cols, tile.element)

    def empty(self, at: Setting, init: float | None) -> Array:
        """A tile without cols."""
        rows = at.tile.rows.static
        if rows is None:
            raise StepError(f"{self} folds an empty chunk, and its rows are not known")
        return np.zeros((rows, 0), at.dtype)

    def keeps_rows(self, operand: int) -> bool:
        """Each row becomes wider."""
        return True

    def fold_unit(
        self, lanes: int, streams: Sequence[Stream], rank: int
    ) -> Sequence[retile_col.RetileCol | PackCols]:
        """A memory of a chunk, read row by row; rows with gaps are packed behind it."""
        x = streams[0]
        assert isinstance(x.dtype, Tile)
        dims = [x.dim(level).static for level in range(rank)]
        cols = x.dtype.cols.static
        if None in dims or cols is None:
            raise StepError(
                f"{x.name} is {x}; joining tiles by columns takes chunks of static dims"
            )
        count = math.prod(n for n in dims if n is not None)
        bits = x.dtype.element.bits
        joined = retile_col.RetileCol(
            count=count,
            slices=-(-cols // lanes),
            rows=max(1, buffer_bound(f"the number of rows of {x.dtype}", [x.dtype.rows])),
            level=TILE_LEVELS + rank,
            buffers=held_at_once(x.shape[: len(x.shape) - rank]),
            bits=bits,
        )
        return [joined, PackCols(count, cols, bits)] if cols % lanes and count > 1 else [joined]


@dataclass(frozen=True)
class RowBroadcast(Mapped):
    """``[R, 1] -> [R, cols]``: broadcasts the element of each row along the row.

    Parameters
    ----------
    cols : int
        Columns of the result.
    """

    cols: int

    extents_of: ClassVar[Literal["cols"]] = "cols"

    def __post_init__(self) -> None:
        if self.cols < 1:
            self.refuse(f"cols must be at least 1, not {self.cols}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The wide tile."""
        self.check(call, tiles)
        if tiles[0].cols != 1:
            call.fail(f"{self} needs tiles of 1 column, not {tiles[0]}")
        return Tile(tiles[0].rows, self.cols, tiles[0].element)

    def unit(self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]) -> pcu.Pcu:
        """A PCU without arithmetic."""
        spread: tuple[pcu.Broadcast, ...] = ("cols",) if self.cols > 1 else ("",)
        return pcu.Pcu((tiles[0].element.name,), (), spread, -(-self.cols // lanes))

    def compute(self, at: Setting, x: Array) -> Array:
        """Values stay as they are."""
        return np.repeat(x, self.cols, axis=1)

    def keeps_rows(self, operand: int) -> bool:
        """Each row becomes wider."""
        return True


@dataclass(frozen=True)
class PlaceRows(Mapped):
    """``[R, C]``, rows ``[r, C]`` and a scalar address i -> its rows i to i + r - 1 replaced.

    So a decoder puts the new keys of a cache where they belong: one row, or those of a prompt. r
    may be decided at run time.
    """

    most_rows: ClassVar[int | None] = None
    arity: ClassVar[int] = 3
    elements: ClassVar = NUMBERS
    extents_of: ClassVar[Literal["placed"]] = "placed"

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """The tile and its rows are checked as for other functions, the number by `tile`."""
        super().check(call, [*tiles[:2], tiles[0]][: len(tiles)])

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile like the first."""
        self.check(call, tiles)
        tile, row, index = tiles
        if index != Tile(1, 1, address):
            call.fail(f"{self} needs the number of a row as {Tile(1, 1, address)}, not {index}")
        fits = row.rows == 1 or self.most_rows is None
        if not fits or not row.cols.same(tile.cols) or row.element != tile.element:
            what = "as a row" if self.most_rows else "as rows"
            call.fail(f"{self} can't place {row} {what} of {tile}")
        return tile

    def compute(self, at: Setting, tile: Array, rows: Array, index: Array) -> Array:
        """The tile with some rows replaced.

        Raises
        ------
        StepError
            If the tile has no such rows.
        """
        first, count = int(index[0, 0]), len(rows)
        if count and first + count > len(tile):
            which = f"row {first}" if count == 1 else f"rows {first} to {first + count - 1}"
            raise StepError(f"{self} can't replace {which} of a tile of {say(tile)}")
        placed = tile.copy()
        placed[first : first + count] = rows
        return placed

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> place_row.PlaceRow | None:
        """Rows pass, but for those replaced."""
        x, rows, *_ = tiles
        if not wire_levels(x):
            return None
        if rows.rows.may_be_empty:
            raise StepError(
                f"its circuit places at least 1 row, and {rows} may have none: "
                f"make {rows.rows} a dim with positive=True"
            )
        assert x.cols.static is not None
        return place_row.PlaceRow(-(-x.cols.static // lanes), x.element.bits)

    def largest_number(self, *types: DataType) -> int:
        """The rows of a tile."""
        tile = types[0]
        assert isinstance(tile, Tile)
        return ANY_NUMBER if tile.rows.bound is None else tile.rows.bound


@dataclass(frozen=True)
class PlaceRow(PlaceRows):
    """``[R, C]``, a row ``[1, C]`` and a scalar address i -> the tile with its row i replaced."""

    most_rows: ClassVar[int | None] = 1


@dataclass(frozen=True)
class ShiftCols(Mapped):
    """``[R, C]`` -> the same shape, column j being column j - by; the first ones are `fill`.

    Columns that move past the last one are dropped.

    Parameters
    ----------
    by : int
        Number of columns to shift by, at least 1, to the right.
    fill : number
        A whole number where the elements are integers.
    """

    by: int = 1
    fill: float = 0

    def __post_init__(self) -> None:
        if self.by < 1:
            self.refuse(f"by must be at least 1, not {self.by}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        call.constant(str(self), self.fill, tiles[0].element)
        return tiles[0]

    def compute(self, at: Setting, x: Array) -> Array:
        """The remaining columns, behind new ones."""
        fill = numbers.constant(self.fill, at.element)
        new = np.full((x.shape[0], min(self.by, x.shape[1])), fill[0, 0], at.dtype)
        return np.concatenate([new, x[:, : max(0, x.shape[1] - self.by)]], axis=1)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> shift_cols.ShiftCols | None:
        """It keeps the last elements of a row."""
        return shift_cols.of_tile(tiles[0], self.by, self.fill, lanes)

    def keeps_rows(self, operand: int) -> bool:
        """Columns move."""
        return True


class RotatePairs(Mapped):
    """``[R, C]`` -> the same shape: of each pair of columns the second, negated, then the first.

    Column 2j is minus column 2j + 1 of the operand, and column 2j + 1 is its column 2j. So
    ``x * cos + rotate_pairs(x) * sin`` turns pairs by angles: the position embedding RoPE. 1
    operation per element; integers wrap around.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        self.check(call, tiles)
        if (tiles[0].cols.static or 0) % 2:
            call.fail(f"{self} needs an even number of columns, not {tiles[0]}")
        return tiles[0]

    def fit(self, *tiles: Array) -> None:
        """Check that columns are even."""
        if tiles[0].shape[1] % 2:
            raise StepError(
                f"{self} needs an even number of columns, not a tile of {say(tiles[0])}"
            )

    def compute(self, at: Setting, x: Array) -> Array:
        """Pairs that changed places."""
        first, second = x[:, 0::2], x[:, 1::2]
        return np.stack([numbers.negate(second), first], axis=2).reshape(x.shape)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> rotate_pairs.RotatePairs | None:
        """Lanes change places, those of pairs in two beats one beat late."""
        return rotate_pairs.of_tile(tiles[0], lanes)

    def keeps_rows(self, operand: int) -> bool:
        """Columns move."""
        return True

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element."""
        return tiles[0].elements
