"""One-hot: a selector becomes one selector for each bit that is set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class OneHot(UnitParams):
    """``y`` has a group of selectors for each selector of ``x``: one per set bit, lowest first.

    A selector without set bits becomes an empty group.

    Parameters
    ----------
    bits : int
        Bits of a selector.
    """

    bits: int

    kind: ClassVar = "one_hot"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if self.bits < 1:
            return f"a selector must have at least 1 bit, not {self.bits}"
        if rank is None:
            return "x needs a channel with structure, not a raw one"
        x = Format(self.bits, 1, rank)
        return misfit(unit, design, x=x, y=x._replace(rank=rank + 1))

    def extents(self, x: Extents) -> Extents:
        return [Extent(self.bits, True, "set bits"), *x]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a selector becomes a group."""
        x, y = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            return {y: replace(paces[x].moved(0, 1), replayed="")}

        return [Part((x,), (y,), follow)]
