"""RunningMax: along each row a maximum that decays by a constant per column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.pipeline import Recurrence, largest, pattern
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, FLOATS, NUMBERS, ElementType, Tile

LEVEL = 2
"""Stages of the larger one of two numbers: compare, select."""
COLLECTED = 2
"""Stages from the last cycle of a beat until its last element is among those that leave."""


@dataclass(frozen=True)
class RunningMax(UnitParams):
    """``y[j] = max(x[j], y[j - 1] - decay)`` in each row, without overflow.

    Adding ``j * decay`` to column j makes it a plain running maximum, of numbers that are wider.
    Floats are compared as integers of the same order. Where they decay, each subtraction rounds, so
    a column is computed when the one before is there.

    Parameters
    ----------
    operand : str
        Element type.
    columns : int
        Elements of a row.
    decay : int
        At least 0; of floats the bit pattern of what is added, 0 if they do not decay.
    """

    operand: str
    columns: int
    decay: int

    kind: ClassVar = "running_max"
    main: ClassVar = "compute"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def element(self) -> ElementType:
        """Element type."""
        return ELEMENTS[self.operand]

    @property
    def of_floats(self) -> bool:
        """Whether it takes floats."""
        return self.element in FLOATS

    @property
    def columnwise(self) -> bool:
        """Whether it computes a column after the other."""
        return self.of_floats and self.decay != 0

    @property
    def pipeline(self) -> Recurrence:
        """The next column of the one before and an element, where it is columnwise."""
        return largest(self.operand, self.decay)

    def turn(self, lanes: int) -> int:
        """Cycles of a beat of a row."""
        return lanes * self.pipeline.loop if self.columnwise else 1

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // lanes)

    @property
    def step(self) -> int:
        """What is added per column: a decay by all there is lets no element reach the next."""
        return min(self.decay, (1 << self.element.bits) - 1)

    def bits(self, lanes: int) -> int:
        """Bits of an element with what is added to it."""
        most = self.step * (self.slices(lanes) * lanes - 1)
        return ((1 << self.element.bits - 1) + most).bit_length() + 1

    def levels(self, lanes: int) -> int:
        """Levels of the prefix network over the lanes of a beat."""
        return (lanes - 1).bit_length()

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operand not in [e.name for e in NUMBERS]:
            return f"it works on {', '.join(map(str, NUMBERS))}, not on {self.operand}"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        if self.decay < 0:
            return f"the decay must be at least 0, not {self.decay}"
        if self.of_floats and self.decay >= 1 << self.element.bits:
            return f"{self.decay} is not a bit pattern of {self.element}"
        rank = design.channel[unit.inputs["x"]].rank
        if not rank:
            return "x must have rows"
        x = Format(design.lanes, self.element.bits, rank)
        return misfit(unit, design, x=x, y=x._replace(delay=self.delay(design.lanes)))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a beat takes as many columns as a row has, at least, shared among its beats."""
        turn, slices = 1, int(extents[unit.outputs["y"]][0].bound)
        if self.columnwise:
            turn = self.turn(-(-self.columns // slices))
        return [replace(part, turn=turn) for part in super().parts(unit, extents)]

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y``: add; the network; the beats before; the larger one; subtract.

        Columnwise it is that of the last element.
        """
        if self.columnwise:
            return COLLECTED
        return 3 + (self.levels(lanes) + 1) * LEVEL


def of_tile(x: Tile, decay: float) -> RunningMax | None:
    """The unit for tiles of numbers of static columns; None for others."""
    if x.element not in NUMBERS:
        return None
    assert x.cols.static is not None
    by = pattern(-decay, x.element) if decay and x.element in FLOATS else int(decay)
    return RunningMax(x.element.name, x.cols.static, by)
