"""Count: how many elements a chunk has, of its structure alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.wire import number_limit


@dataclass(frozen=True)
class Count(UnitParams):
    """``y`` has the number of elements for each chunk of ``x``, or up to each element of it.

    Parameters
    ----------
    base : int
        Wire level of ``x`` that closes an element.
    level : int
        Wire level of ``x`` that closes a chunk.
    start : int
        Number before the first element.
    every : bool
        Whether a number is sent for each element (Scan), else for each chunk (Accum).
    """

    base: int
    level: int
    start: int
    every: bool

    kind: ClassVar = "count"
    main: ClassVar = "count"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def lowered(self) -> int:
        """A number has no dims of a tile."""
        return self.base

    @property
    def closing(self) -> int:
        """Wire level of ``x`` at which a number is sent."""
        return self.base if self.every else self.level

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, y = (design.channel[c] for c in (unit.inputs["x"], unit.outputs["y"]))
        if x.rank is None or not 0 <= self.base < self.level <= x.rank:
            return f"the levels {self.base} and {self.level} must be within 0..{x.rank or 0}"
        if not 0 <= self.start < number_limit(max(1, y.bits)):
            return f"{y.bits} bits can't count from {self.start} on"
        return misfit(unit, design, y=Format(1, max(1, y.bits), x.rank - self.closing))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives a beat for what is complete."""
        x, y, level = unit.inputs["x"], unit.outputs["y"], self.closing

        def follow(paces: Paces) -> Paces:
            made = replace(paces[x].moved(level, -level), replayed="")
            return {y: replace(made, opened=False, prompt=False) if level else made}

        return [Part((x,), (y,), follow)]
