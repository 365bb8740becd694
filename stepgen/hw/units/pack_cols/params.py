"""PackCols: closes the gaps in rows that are made of parts of other columns than beats hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class PackCols(UnitParams):
    """Rows of ``y`` have the columns of all parts of a row of ``x``, without gaps.

    Each part begins with a beat, and its last one is not full.

    Parameters
    ----------
    parts_of_row : int
        Parts of a row.
    columns : int
        Columns of a part, not a multiple of the lanes.
    bits : int
        Bits of an element.
    """

    parts_of_row: int
    columns: int
    bits: int

    kind: ClassVar = "pack_cols"
    main: ClassVar = "pack"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def slices(self, lanes: int) -> int:
        """Beats of a part."""
        return -(-self.columns // lanes)

    def tail(self, lanes: int) -> int:
        """Lanes of the last beat of a part that hold columns of it."""
        return self.columns % lanes

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if not rank:
            return "x must have rows"
        if min(self.parts_of_row, self.columns) < 1:
            return (
                f"a row must have at least 1 part of at least 1 column, "
                f"not {self.parts_of_row} of {self.columns}"
            )
        if not self.tail(design.lanes):
            return f"parts of {self.columns} columns leave no gaps in beats of {design.lanes} lanes"
        x = Format(design.lanes, self.bits, rank)
        return misfit(unit, design, x=x, y=x._replace(delay=self.delay(design.lanes)))

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y``: a register."""
        return 1

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a beat that does not end its row leaves when later ones have filled it."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            return {y_name: replace(paces[x_name].moved(1, 0), opened=False, prompt=False)}

        return [Part((x_name,), (y_name,), follow)]
