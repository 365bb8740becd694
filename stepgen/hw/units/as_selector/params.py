"""AsSelector: rows of flags become selectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class AsSelector(UnitParams):
    """``y`` has a selector, with a bit for each flag, for each tile ``[1, columns]`` of ``x``.

    Parameters
    ----------
    columns : int
        Flags of a row.
    otherwise : bool
        Whether a selector has one bit more, which is set where no flag is.
    """

    columns: int
    otherwise: bool = False

    kind: ClassVar = "as_selector"
    main: ClassVar = "gather"
    decides: ClassVar = "y"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def lowered(self) -> int:
        """A selector has no dims of a tile."""
        return TILE_LEVELS

    @property
    def bits(self) -> int:
        """Bits of a selector."""
        return self.columns + self.otherwise

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // lanes)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.columns < 1:
            return f"a row needs at least 1 flag, not {self.columns}"
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        x, y = Format(design.lanes, 1, rank), Format(self.bits, 1, rank - TILE_LEVELS)
        return misfit(unit, design, x=x, y=y)

    def extents(self, x: Extents) -> Extents:
        return x[TILE_LEVELS:]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a selector leaves with the last beat of its row."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        one = extents[x][0].bound <= 1

        def follow(paces: Paces) -> Paces:
            tiles = paces[x].moved(TILE_LEVELS, -TILE_LEVELS)
            return {y: tiles if one else replace(tiles, opened=False, prompt=False)}

        return [Part((x,), (y,), follow)]
