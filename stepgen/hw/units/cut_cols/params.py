"""CutCols: a row becomes a group of tiles of some of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class CutCols(UnitParams):
    """``y`` has a group of tiles ``[1, width]`` for each tile ``[1, columns]`` of ``x``.

    Parameters
    ----------
    columns : int
        Elements of a row.
    width : int
        Elements of a part, of which a row has a whole number.
    bits : int
        Bits of an element.
    apart : bool
        Whether each part becomes a tile. Otherwise rows stay rows, of tiles of any number of them,
        in which each part begins with a beat.
    """

    columns: int
    width: int
    bits: int
    apart: bool = True

    kind: ClassVar = "cut_cols"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def parts_of_row(self) -> int:
        """Parts of a row."""
        return self.columns // self.width

    def slices(self, lanes: int) -> int:
        """Beats of a part."""
        return -(-self.width // lanes)

    def tail(self, lanes: int) -> int:
        """Lanes of the last beat of a part that hold columns of it."""
        return self.width - (self.slices(lanes) - 1) * lanes

    def straddles(self, lanes: int) -> bool:
        """Whether a beat of a part may have columns of two beats of the row."""
        return self.width % lanes != 0 and lanes % self.width != 0 and self.parts_of_row > 1

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        if min(self.columns, self.width) < 1:
            return (
                f"a row and its parts need at least 1 column, not {self.columns} and {self.width}"
            )
        if self.columns % self.width:
            return f"rows of {self.columns} columns can't be cut into parts of {self.width}"
        x = Format(design.lanes, self.bits, rank)
        return misfit(unit, design, x=x, y=x._replace(rank=rank + self.apart))

    def extents(self, x: Extents) -> Extents:
        least_lanes = math.ceil(self.columns / x[0].bound)
        beats = Extent.of(static(self.slices(least_lanes)))
        parts = Extent.of(static(self.parts_of_row))
        return [beats, x[1], parts, *x[TILE_LEVELS:]] if self.apart else [parts * beats, *x[1:]]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives the beats of each part."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        sent = extents[y][0].bound * (self.parts_of_row if self.apart else 1)
        turn = math.ceil(sent / extents[x][0].bound)
        least, by = (TILE_LEVELS, 1) if self.apart else (1, 0)

        def follow(paces: Paces) -> Paces:
            pace = replace(paces[x].moved(least, by), replayed="")
            return {y: replace(pace, prompt=False) if sent > 1 else pace}

        return [Part((x,), (y,), follow, turn=turn)]
