"""PlaceRow: a tile in which rows, from one given by its number on, are replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class PlaceRow(UnitParams):
    """``y`` is ``x``, whose rows from that of the number in ``at`` on are those of ``row``.

    Parameters
    ----------
    slices : int
        Beats of a row.
    bits : int
        Bits of an element.
    """

    slices: int
    bits: int

    kind: ClassVar = "place_row"
    main: ClassVar = "place"
    inputs: ClassVar = ("x", "row", "at")
    outputs: ClassVar = ("y",)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        at = unit.inputs["at"]
        return {UNTOLD: f"{unit.name} is to replace a row of a tile with fewer rows, as {at} says"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, at = (design.channel[unit.inputs[port]] for port in ("x", "at"))
        if x.rank is None or x.rank < TILE_LEVELS:
            return "x must have tiles"
        if min(self.slices, at.bits) < 1:
            return f"a row must have at least 1 beat and a number, not {self.slices}"
        tiles = Format(design.lanes, self.bits, x.rank)
        numbers = Format(1, at.bits, x.rank - TILE_LEVELS)
        return misfit(unit, design, x=tiles, row=tiles, at=numbers, y=tiles)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; rows and numbers meet the others tile by tile."""
        x, row, at = unit.inputs.values()
        y = unit.outputs["y"]
        moves = {x: (0, 0), row: (TILE_LEVELS, 0), at: (0, TILE_LEVELS)}

        def follow(paces: Paces) -> Paces:
            main, *others = (paces[c].moved(*moves[c]) for c in moves if c in paces)
            return {y: main.after(*others)}

        return [Part((x, row, at), (y,), follow, meets={x: TILE_LEVELS, row: TILE_LEVELS})]
