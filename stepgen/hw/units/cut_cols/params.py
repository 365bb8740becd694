"""CutCols: a row becomes a group of tiles of one element."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.dims import static
from ....ir.wire import TILE_LEVELS
from ...design.formats import Format, misfit
from ...design.pace import Extent, Extents, Paces, Part
from ...design.params import UnitParams
from ...design.table import Design, Unit


@dataclass(frozen=True)
class CutCols(UnitParams):
    """``y`` has a group of tiles ``[1, 1]`` for each tile ``[1, C]`` of ``x``.

    Parameters
    ----------
    columns : int
        Elements of a row.
    bits : int
        Bits of an element.
    """

    columns: int
    bits: int

    kind: ClassVar = "cut_cols"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        x = Format(design.lanes, self.bits, rank)
        return misfit(unit, design, x=x, y=x._replace(rank=rank + 1))

    def extents(self, x: Extents) -> Extents:
        one, columns = Extent.of(static(1)), Extent.of(static(self.columns))
        return [one, one, columns, *x[TILE_LEVELS:]]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives a beat for each element."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        turn = math.ceil(self.columns / extents[x][0].bound)

        def follow(paces: Paces) -> Paces:
            tiles = replace(paces[x].moved(TILE_LEVELS, 1), replayed="")
            return {y: replace(tiles, prompt=False) if self.columns > 1 else tiles}

        return [Part((x,), (y,), follow, turn=turn)]
