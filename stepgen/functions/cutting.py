"""Functions that cut tiles into rows, or into parts of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.cut_cols.params import CutCols as ColumnCutter
from stepgen.hw.units.cut_tile.params import CutTile
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.promote.params import Promote
from stepgen.ir.dims import Dim, buffer_bound, static
from stepgen.ir.dtypes import NUMBERS, DataType, Tile, bool_
from stepgen.ir.function import Cut
from stepgen.ir.operator import Call
from stepgen.ir.pieces import Parts, Pieces
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.semantics.numbers import Array


class _Cutting(Cut, abstract=True):
    """Cuts tiles into parts, which rank 0 joins to one dim and rank 1 keeps in a group per tile."""

    elements: ClassVar = (*NUMBERS, bool_)
    gathers: ClassVar[bool] = True

    def _stream(self, call: Call, rank: int, number: Dim, piece: Tile) -> Pieces:
        if rank > 1:
            call.fail(f"{self} makes streams of rank 0 or 1, not {rank}")
        return Pieces(((static(1),) * rank + (number,)), piece)


@dataclass(frozen=True)
class RetileStreamify(_Cutting):
    """FlatMap only: rank 0 concatenates the pieces of all tiles, rank 1 keeps a group per tile.

    Parameters
    ----------
    axis : {"row", "col"}
        ``[R, C]`` becomes R tiles ``[1, C]`` or C tiles ``[R, 1]``.
    """

    axis: Literal["row", "col"] = "row"

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[R]`` of rows or ``[C]`` of columns; with a leading 1 for rank 1."""
        assert isinstance(element, Tile)
        tile = element
        self.check(call, [tile])
        piece = (
            Tile(1, tile.cols, tile.element)
            if self.axis == "row"
            else Tile(tile.rows, 1, tile.element)
        )
        return self._stream(call, rank, self._number(tile), piece)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """Rows ``[1, C]`` or columns ``[R, 1]`` in the tile's own order."""
        if self.axis == "row":
            return [element[i : i + 1] for i in range(element.shape[0])]
        return _columns(element, 1)

    def cuts_into(self) -> Parts:
        """Rows or columns."""
        return "rows" if self.axis == "row" else "cols"

    def may_vanish(self, element: DataType) -> bool:
        """Whether a tile can have no rows, or no columns."""
        assert isinstance(element, Tile)
        return self._number(element).may_be_empty

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[UnitParams]:
        """By rows: a new dim below them; for rank 0 the rows join the dim above them.

        By columns: as `CutCols`.
        """
        assert isinstance(x.dtype, Tile)
        if self.axis == "col":
            return _column_units(x.dtype, 1, lanes, rank)
        promote = Promote(level=1, outermost=False)
        if rank > 0:
            return (promote,)
        return promote, Flatten(lo=2, hi=3, hold=x.rank > 0 and x.dtype.rows.may_be_empty)

    def _number(self, tile: Tile) -> Dim:
        return tile.rows if self.axis == "row" else tile.cols


@dataclass(frozen=True)
class CutCols(_Cutting):
    """FlatMap only: ``[R, C]`` becomes ``C / c`` tiles ``[R, c]``, as the heads of a row.

    Rank 0 concatenates the pieces of all tiles, rank 1 keeps a group per tile.
    ``retile_col`` joins them again.

    Parameters
    ----------
    c : int
        Columns of a piece; the columns of the tiles are a multiple of it.
    """

    c: int

    def __post_init__(self) -> None:
        if self.c < 1:
            self.refuse(f"c must be at least 1, not {self.c}")

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[C / c]`` of pieces; with a leading 1 for rank 1."""
        assert isinstance(element, Tile)
        self.check(call, [element])
        cols = element.cols.static
        if cols is None or cols % self.c:
            call.fail(f"{self} needs tiles whose columns are a multiple of {self.c}, not {element}")
        piece = Tile(element.rows, self.c, element.element)
        return self._stream(call, rank, static(cols // self.c), piece)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        """Tiles of `c` columns, from the left."""
        return _columns(element, self.c)

    def cuts_into(self) -> Parts:
        """Columns."""
        return "cols"

    def cut_units(self, lanes: int, x: Stream, rank: int) -> Sequence[UnitParams]:
        """Of one row: beats and their stops; tiles of several rows pass a memory."""
        assert isinstance(x.dtype, Tile)
        return _column_units(x.dtype, self.c, lanes, rank)


def _columns(tile: Array, width: int) -> list[Array]:
    return [tile[:, i : i + width] for i in range(0, tile.shape[1], width)]


def _column_units(tile: Tile, width: int, lanes: int, rank: int) -> list[UnitParams]:
    """Units that cut tiles into parts of `width` columns.

    The memory for tiles of several rows gives beats, or equal parts of them. Where a part would
    begin elsewhere in a beat, rows are spread first, so that each part begins with a beat.
    """
    cols, bits = tile.cols.static, tile.element.bits
    assert cols is not None
    one = ColumnCutter(cols, width, bits, apart=tile.rows == 1)
    if cols == width:  # a group of one for each tile
        units: list[UnitParams] = [Promote(level=2, outermost=False)]
    elif one.apart:
        units = [one]
    else:
        rows = max(1, buffer_bound(f"the number of rows of {tile}", [tile.rows]))
        if one.straddles(lanes):
            wide = one.slices(lanes) * lanes
            units = [one, CutTile(one.parts_of_row * wide, wide, rows, bits)]
        else:
            units = [CutTile(cols, width, rows, bits)]
    return units if rank else [*units, Flatten(lo=2, hi=3, hold=False)]
