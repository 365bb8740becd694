"""AsScalar: tiles of one flag become flags, tiles of one integer become addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, INTEGERS, bool_
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class AsScalar(UnitParams):
    """``y`` has a flag or an address, without dims of a tile, for each tile `[1, 1]` of ``x``.

    Parameters
    ----------
    operand : str
        What ``x`` has: bool, or integers, of which addresses are made.
    """

    operand: str = bool_.name

    kind: ClassVar = "as_scalar"
    main: ClassVar = "convert"
    decides: ClassVar = "y"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def lowered(self) -> int:
        """A scalar has no dims of a tile."""
        return TILE_LEVELS

    @property
    def of_flags(self) -> bool:
        """Whether it makes flags."""
        return self.operand == bool_.name

    def problem(self, unit: Unit, design: Design) -> str | None:
        if not self.of_flags and self.operand not in [e.name for e in INTEGERS]:
            return f"it takes flags or integers, not {self.operand}"
        x, y = (design.channel[c] for c in (unit.inputs["x"], unit.outputs["y"]))
        if x.rank is None or x.rank < TILE_LEVELS:
            return "x must have tiles"
        given = Format(design.lanes, ELEMENTS[self.operand].bits, x.rank)
        made = Format(1, 1 if self.of_flags else max(1, y.bits), x.rank - TILE_LEVELS)
        return misfit(unit, design, x=given, y=made)

    def extents(self, x: Extents) -> Extents:
        return x[TILE_LEVELS:]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a tile is a beat."""
        x, y = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            return {y: paces[x].moved(TILE_LEVELS, -TILE_LEVELS)}

        return [Part((x,), (y,), follow)]
