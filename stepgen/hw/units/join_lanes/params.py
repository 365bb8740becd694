"""JoinLanes: the elements of a row, which come one by one, as slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class JoinLanes(UnitParams):
    """``y`` has the rows of ``x`` as slices of L elements; the last one of a row is filled.

    Parameters
    ----------
    bits : int
        Bits of an element.
    counts : bool
        Whether one lane more says how many elements a slice lacks.
    fill : int
        Bit pattern of what fills a row's last slice.
    """

    bits: int
    counts: bool = False
    fill: int = 0

    kind: ClassVar = "join_lanes"
    main: ClassVar = "join"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        lanes, rank = design.lanes, design.channel[unit.inputs["x"]].rank
        if not rank:
            return "x must have rows"
        if self.counts and 1 << self.bits < lanes:
            return f"{self.bits} bits can't count {lanes} elements"
        y = Format(lanes + self.counts, self.bits, rank)
        return misfit(unit, design, x=Format(1, self.bits, rank), y=y)

    def slices(self, x: Extents, lanes: int) -> Extents:
        """The dims of the output by those of the input."""
        row, *others = x
        beats = row.bound if row.bound == float("inf") else -(-row.bound // lanes)
        return [Extent(beats, row.may_be_empty, row.name), *others]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives a beat for several."""
        x, y = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            rows = paces[x].moved(1, 0)
            several = extents[x][0].bound > 1
            return {y: replace(rows, opened=False, prompt=False) if several else rows}

        return [Part((x,), (y,), follow)]
