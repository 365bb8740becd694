"""RotatePairs: turns each pair of columns by a right angle."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, NUMBERS, ElementType, Tile


@dataclass(frozen=True)
class RotatePairs(UnitParams):
    """Column 2j of ``y`` is minus column 2j + 1 of ``x``, and column 2j + 1 is column 2j.

    Parameters
    ----------
    operand : str
        Element type.
    slices : int
        Beats of a row.
    straddles : bool
        Whether a pair may lie in two beats, since lanes are odd: then each beat waits for the next
        one of its row.
    """

    operand: str
    slices: int
    straddles: bool

    kind: ClassVar = "rotate_pairs"
    main: ClassVar = "rotate"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def element(self) -> ElementType:
        """Element type."""
        return ELEMENTS[self.operand]

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operand not in [e.name for e in NUMBERS]:
            return f"{self.operand} is not a type of numbers"
        if self.slices < 1:
            return f"a row must have at least 1 beat, not {self.slices}"
        if self.straddles != _straddles(self.slices, design.lanes):
            return (
                f"pairs in {self.slices} beats of {design.lanes} lanes are not "
                f"straddles={self.straddles}"
            )
        x = design.channel[unit.inputs["x"]]
        if x.element not in ("", self.operand):
            return f"x must carry {self.operand}, not {x.element}"
        if not x.rank:
            return "x must have rows"
        wanted = Format(design.lanes, self.element.bits, x.rank)
        return misfit(unit, design, x=wanted, y=wanted._replace(delay=self.delay(design.lanes)))

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y``: a register."""
        return 1

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; where pairs straddle beats, one leaves when the next one of its row arrives."""
        if not self.straddles:
            return super().parts(unit, extents)
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            lag = x.lag if x.level else math.inf if x.sparse else x.lag + 1
            return {y_name: replace(x, lag=lag, opened=False, prompt=False)}

        return [Part((x_name,), (y_name,), follow)]


def of_tile(x: Tile, lanes: int) -> RotatePairs:
    """The unit for tiles of static columns."""
    assert x.cols.static is not None
    slices = -(-x.cols.static // lanes)
    return RotatePairs(x.element.name, slices, _straddles(slices, lanes))


def _straddles(slices: int, lanes: int) -> bool:
    return lanes % 2 == 1 and slices > 1
