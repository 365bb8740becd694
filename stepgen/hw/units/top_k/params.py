"""TopK: the largest elements of a row, as a selector or as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, NUMBERS, ElementType
from stepgen.ir.wire import TILE_LEVELS

STAGES = 4
"""Choose a lane; make it a number of its order; insert it; gather the result."""


@dataclass(frozen=True)
class TopK(UnitParams):
    """``y`` has a selector, or a row of the elements that are chosen, for each row of ``x``.

    Parameters
    ----------
    operand : str
        Element type of ``x``.
    columns : int
        Elements of a row.
    count : int
        How many are chosen.
    scores : bool
        Whether ``y`` carries the elements that are chosen, and not a selector.
    """

    operand: str
    columns: int
    count: int
    scores: bool

    kind: ClassVar = "top_k"
    main: ClassVar = "choose"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def element(self) -> ElementType:
        """Element type of ``x``."""
        return ELEMENTS[self.operand]

    @property
    def lowered(self) -> int:
        """A selector has no dims of a tile."""
        return 0 if self.scores else TILE_LEVELS

    @property
    def decides(self) -> str:
        """A selector."""
        return "" if self.scores else "y"

    def beats(self, lanes: int) -> int:
        """Beats of ``y`` for a row."""
        return -(-self.count // lanes) if self.scores else 1

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operand not in [str(e) for e in NUMBERS]:
            return f"{self.operand} is not a type of numbers"
        if not 1 <= self.count <= self.columns:
            return f"{self.count} of {self.columns} elements can't be chosen"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or x.rank < TILE_LEVELS:
            return "x must have tiles"
        if x.element not in ("", self.operand):
            return f"x must carry {self.operand}, not {x.element}"
        wanted = Format(design.lanes, self.element.bits, x.rank)
        y = wanted._replace(delay=STAGES)
        if not self.scores:
            y = Format(self.columns, 1, x.rank - TILE_LEVELS, STAGES)
        return misfit(unit, design, x=wanted, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return STAGES

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives its beats for a complete tile."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        slices, made = extents[x][0].bound, extents[y][0].bound if self.scores else 1
        turn = math.ceil((self.columns + made - 1) / slices)

        def follow(paces: Paces) -> Paces:
            tiles = paces[x].moved(TILE_LEVELS, -self.lowered)
            return {
                y: replace(tiles, opened=False, prompt=False) if max(slices, made) > 1 else tiles
            }

        return [Part((x,), (y,), follow, turn=turn)]
