"""ShiftCols: moves the columns of a tile to the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.arithmetic.pipeline import pattern
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import Tile


@dataclass(frozen=True)
class ShiftCols(UnitParams):
    """Column j of ``y`` is column ``j - by`` of ``x``; the first ones are filled.

    Parameters
    ----------
    by : int
        Columns by which to shift.
    fill : int
        Bit pattern of the elements of new columns.
    slices : int
        Beats of a row.
    bits : int
        Bits of an element.
    """

    by: int
    fill: int
    slices: int
    bits: int

    kind: ClassVar = "shift_cols"
    main: ClassVar = "shift"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if not rank:
            return "x must have rows"
        if min(self.by, self.slices) < 1:
            return (
                f"columns are shifted by at least 1 in rows of at least 1 slice, "
                f"not by {self.by} in {self.slices}"
            )
        if self.fill < 0 or self.fill.bit_length() > self.bits:
            return f"{self.fill} is not a pattern of {self.bits} bits"
        x = Format(design.lanes, self.bits, rank)
        return misfit(unit, design, x=x, y=x)


def of_tile(x: Tile, by: int, fill: float, lanes: int) -> ShiftCols:
    """The unit for tiles of static columns, with a number for the new ones."""
    assert x.cols.static is not None
    bits = x.element.bits
    return ShiftCols(by, pattern(fill, x.element) % (1 << bits), -(-x.cols.static // lanes), bits)
