"""SplitLanes: slices of a row as its elements, one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class SplitLanes(UnitParams):
    """``y`` has a beat per element of the slices of ``x``, one lane of which says what they lack.

    Parameters
    ----------
    bits : int
        Bits of an element.
    """

    bits: int

    kind: ClassVar = "split_lanes"
    main: ClassVar = "split"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        lanes, rank = design.lanes, design.channel[unit.inputs["x"]].rank
        if not rank:
            return "x must have rows"
        x = Format(lanes + 1, self.bits, rank)
        return misfit(unit, design, x=x, y=Format(1, self.bits, rank))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which takes several cycles for a beat."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        beats, elements = extents[x][0].bound, extents[y][0].bound
        turn = 1 if math.isinf(elements) else math.ceil(elements / max(1, beats))

        def follow(paces: Paces) -> Paces:
            rows = paces[x].moved(1, 0)
            return {y: replace(rows, prompt=rows.prompt and turn == 1)}

        return [Part((x,), (y,), follow, turn=turn)]
