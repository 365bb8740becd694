"""AsFlag: tiles of one flag become flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ....ir.wire import TILE_LEVELS
from ...design.formats import Format, misfit
from ...design.pace import Extents, Paces, Part
from ...design.params import UnitParams
from ...design.table import Design, Unit


@dataclass(frozen=True)
class AsFlag(UnitParams):
    """``y`` has a flag, which has no dims of a tile, for each tile ``[1, 1]`` of ``x``."""

    kind: ClassVar = "as_flag"
    main: ClassVar = "convert"
    decides: ClassVar = "y"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def lowered(self) -> int:
        """A flag has no dims of a tile."""
        return TILE_LEVELS

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        x, y = Format(design.lanes, 1, rank), Format(1, 1, rank - TILE_LEVELS)
        return misfit(unit, design, x=x, y=y)

    def extents(self, x: Extents) -> Extents:
        return x[TILE_LEVELS:]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a tile is a beat."""
        x, y = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            return {y: paces[x].moved(TILE_LEVELS, -TILE_LEVELS)}

        return [Part((x,), (y,), follow)]
