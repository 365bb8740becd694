"""Span: what is made of a range of addresses: its addresses one by one, or selectors of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part, copied
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import number_limit

SELECTORS = ("first", "last")
"""What is made with two bits for each address."""


@dataclass(frozen=True)
class Span(UnitParams):
    """``y`` has a group for each range (start, length) of ``x``, or with "end" one address.

    Parameters
    ----------
    makes : {"all", "first", "last", "end"}
        All addresses; for each a selector over 2 consumers, which selects consumer 0 for the first
        or for the last one; or the last address alone.
    most : int or None
        Length of the longest range; None for whatever the wires carry.
    positive : bool
        Whether a range of "all" has at least one address, as the others have.
    """

    makes: Literal["all", "first", "last", "end"]
    most: int | None = None
    positive: bool = False

    kind: ClassVar = "span"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def raised(self) -> int:
        """Levels by which groups of ``y`` are higher."""
        return 0 if self.makes == "end" else 1

    @property
    def least(self) -> int:
        """Length of the shortest range."""
        return int(self.positive or self.makes != "all")

    def longest(self, bits: int) -> int:
        """Length of the longest range, on wires of so many bits."""
        limit = number_limit(bits) - 1
        return limit if self.most is None else min(self.most, limit)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        x = unit.inputs["x"]
        most = self.longest(design.channel[x].bits)
        taken = f"of {self.least} to {most} addresses"
        return {UNTOLD: f"{unit.name} takes ranges {taken}, and gets another one of {x}"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.most is not None and self.most < 1:
            return f"the longest range must be at least 1 long, not {self.most}"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or x.bits < 1:
            return "x must carry ranges"
        y = Format(1, x.bits, x.rank + self.raised)
        if self.makes in SELECTORS:
            y = y._replace(lanes=2, bits=1)
        return misfit(unit, design, x=Format(2, x.bits, x.rank), y=y)

    def extents(self, x: Extents) -> Extents:
        if not self.raised:
            return x
        bound = float("inf") if self.most is None else self.most
        return [Extent(bound, self.least == 0, "length"), *x]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a range becomes a group."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        if not self.raised:
            return [Part((x,), (y,), copied(y))]

        def follow(paces: Paces) -> Paces:
            return {y: replace(paces[x].moved(0, 1), replayed="")}

        return [Part((x,), (y,), follow)]
