"""Limit: refuses tiles with more rows or columns than there is memory for behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import NUMBER_BITS, TOO_LARGE
from stepgen.hw.design.table import Design, Unit

BEYOND = 8
"""Bits by which a number may be longer than the most that may come."""


@dataclass(frozen=True)
class Limit(UnitParams):
    """``y`` is ``x``, up to the first tile that is too large.

    Parameters
    ----------
    most : int
        Most rows of a tile, or elements of a row, that may come.
    level : int
        Wire level that ends what is counted: 1 rows of a tile, 0 elements of a row, one a beat.
    """

    most: int
    level: int

    kind: ClassVar = "limit"
    main: ClassVar = "pass"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def counted_bits(self) -> int:
        """Bits of a number, also of one that is too large."""
        return min(NUMBER_BITS, self.most.bit_length() + BEYOND)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        what = "rows" if self.level else "columns"
        large = (
            f"{unit.origin or unit.name} gets a tile of weights of {{}} {what}, and has memory for "
            f"{self.most}"
        )
        return super().errors(unit, design) | {TOO_LARGE: large}

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if self.most < 1:
            return f"there must be memory for 1 at least, not for {self.most}"
        if self.level not in (0, 1) or not x.rank or x.rank <= self.level:
            return f"x must have groups of level {self.level + 1}"
        if not self.level and x.lanes != 1:
            return f"elements that are counted come one by one, not in {x.lanes} lanes"
        return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank))
