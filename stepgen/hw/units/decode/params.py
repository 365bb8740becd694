"""Decode: an address becomes the selector of one consumer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import number_limit


@dataclass(frozen=True)
class Decode(UnitParams):
    """``y`` has a selector with bit e set for each address e of ``x``.

    Parameters
    ----------
    bits : int
        Bits of a selector.
    """

    bits: int

    kind: ClassVar = "decode"
    main: ClassVar = "decode"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        x = unit.inputs["x"]
        return {UNTOLD: f"{unit.name} gets an address of {x}, but has {self.bits} consumers"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.bits < 1:
            return f"a selector must have at least 1 bit, not {self.bits}"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None:
            return "x needs a channel with structure, not a raw one"
        if self.bits > number_limit(max(1, x.bits)):
            return f"{x.bits} bits can't number {self.bits} consumers"
        given = Format(1, max(1, x.bits), x.rank)
        return misfit(unit, design, x=given, y=Format(self.bits, 1, x.rank))
