"""EagerMerge: merges chunks of several streams in order of arrival."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import UNALIGNED, Extents, Pace, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class EagerMerge(UnitParams):
    """``y`` has the chunks of ``x_0``, ``x_1``, … in the order in which their first beats arrive.

    ``names`` has a selector with one bit set for each chunk: where it came from. It may leave
    before the chunk does. Among chunks that wait inputs take turns.

    Parameters
    ----------
    producers : int
        Number of streams to merge.
    level : int
        Wire level of a chunk (tiles: 2 + rank), the wire rank of every ``x`` and of ``y``.
    """

    producers: int
    level: int

    kind: ClassVar = "eager_merge"
    main: ClassVar = "merge"
    outputs: ClassVar = ("y", "names")

    @property
    def inputs(self) -> tuple[str, ...]:
        """One per producer."""
        return numbered("x", self.producers)

    @property
    def by_arrival(self) -> bool:
        """Always."""
        return True

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.producers < 1:
            return f"it needs at least 1 producer, not {self.producers}"
        if self.level < 0:
            return f"the level of a chunk must be at least 0, not {self.level}"
        first = design.channel[unit.inputs["x_0"]]
        x, names = Format(first.lanes, first.bits, self.level), Format(self.producers, 1, 0)
        return misfit(unit, design, **dict.fromkeys(self.inputs, x), y=x, names=names)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which waits at no input while another has a beat; time decides the order."""
        y_name, names = unit.outputs["y"], unit.outputs["names"]

        def follow(_: Paces) -> Paces:
            return {y_name: UNALIGNED, names: UNALIGNED}

        def start(y: Pace) -> Paces:
            named = Pace(0, opened=True, prompt=True) if y.level >= self.level else UNALIGNED
            return {y_name: y, names: named}

        return [
            Part(
                tuple(unit.inputs.values()),
                (y_name, names),
                follow,
                clock=y_name,
                start=start,
                waits=False,
            )
        ]
