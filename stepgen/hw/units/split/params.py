"""Split: a dim of known extent is taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import RUN, UNALIGNED, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Split(UnitParams):
    """Of each group of chunks of ``x`` the first ones go to ``y_0``, the next to ``y_1``, and on.

    Parameters
    ----------
    sizes : tuple of int
        Chunks of a group for each output.
    level : int
        Wire level of ``x`` that closes a chunk (tiles: 2 + dim).
    """

    sizes: tuple[int, ...]
    level: int

    kind: ClassVar = "split"
    main: ClassVar = "deal"
    inputs: ClassVar = ("x",)

    @property
    def outputs(self) -> tuple[str, ...]:
        """One per size."""
        return numbered("y", len(self.sizes))

    def holds(self, rank: int) -> bool:
        """Whether the stop of a group is known only from its end, for streams of a wire rank."""
        return len(self.sizes) > 1 and rank > self.level + 1

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if not self.sizes or min(self.sizes) < 1:
            return f"each output needs at least 1 chunk of a group, not {list(self.sizes)}"
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of a chunk must be within 0..{x.rank or 0}"
        return misfit(unit, design, **dict.fromkeys(self.outputs, Format(x.lanes, x.bits, x.rank)))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a part of a group waits for the others, and its last beat for the group's end."""
        x_name, ys = unit.inputs["x"], tuple(unit.outputs.values())

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            whole = x.level == RUN or (x.level > self.level and x.aligned)
            y = replace(x, opened=False, prompt=False, replayed="") if whole else UNALIGNED
            return dict.fromkeys(ys, y)

        return [
            Part((x_name,), ys, follow, clock=x_name, start=lambda x: follow({x_name: x})),
        ]
