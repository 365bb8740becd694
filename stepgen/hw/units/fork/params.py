"""Fork: copies each beat to all outputs in the same cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Fork(UnitParams):
    """Copies each beat of the stream ``x`` to all of ``y_0``, ``y_1``, … in the same cycle.

    Parameters
    ----------
    branches : int
        Number of outputs, at least 1.
    """

    branches: int

    kind: ClassVar = "fork"
    inputs: ClassVar = ("x",)

    @property
    def outputs(self) -> tuple[str, ...]:
        """One for each branch."""
        return numbered("y", self.branches)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.branches < 1:
            return f"it needs at least 1 branch, not {self.branches}"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None:
            return "x must be a stream with stops, not raw words"
        y = Format(x.lanes, x.bits, x.rank)
        return misfit(unit, design, **dict.fromkeys(self.outputs, y))
