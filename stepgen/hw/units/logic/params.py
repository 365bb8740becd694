"""Logic: selectors, or flags, of several streams become those of one, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.arithmetic.operations import LOGIC
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Logic(UnitParams):
    """Each beat of ``y`` is an operation on the bits of the beats of all operands.

    Parameters
    ----------
    operation : str
        One of `LOGIC`, or "where", whose first operand chooses between the others.
    bits : int
        Bits of a selector; 1 of flags.
    """

    operation: str
    bits: int

    kind: ClassVar = "logic"
    main: ClassVar = "combine"
    decides: ClassVar = "y"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One operand is ``x``, several are ``x_0``, ``x_1``, …"""
        count = {**LOGIC, "where": 3}.get(self.operation, 1)
        return ("x",) if count == 1 else numbered("x", count)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operation not in (*LOGIC, "where"):
            return f"there is no operation {self.operation} of bits"
        if self.bits < 1:
            return f"a selector must have at least 1 bit, not {self.bits}"
        rank = design.channel[unit.inputs[self.inputs[0]]].rank
        if rank is None:
            return f"{self.inputs[0]} needs a channel with structure, not a raw one"
        return misfit(
            unit, design, **dict.fromkeys((*self.inputs, "y"), Format(self.bits, 1, rank))
        )
