"""Concat: streams are joined along a dim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import RUN, UNALIGNED, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Concat(UnitParams):
    """A group of ``y`` is a group of ``x_0``, then one of ``x_1``, and so on.

    Groups of the last input are not empty.

    Parameters
    ----------
    streams : int
        Number of inputs.
    level : int
        Wire level that closes an element of the dim (tiles: 2 + dim). Where it is the wire rank,
        a group is a run.
    """

    streams: int
    level: int

    kind: ClassVar = "concat"
    main: ClassVar = "join"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One per stream."""
        return numbered("x", self.streams)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.streams < 1:
            return f"it needs at least 1 input, not {self.streams}"
        x = design.channel[unit.inputs["x_0"]]
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of an element must be within 0..{x.rank or 0}"
        one = Format(x.lanes, x.bits, x.rank)
        return misfit(unit, design, **dict.fromkeys((*self.inputs, "y"), one))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which takes a group of each input in turn."""
        xs, y_name = tuple(unit.inputs.values()), unit.outputs["y"]
        inside = len(extents[y_name]) - 1 > self.level

        def follow(paces: Paces) -> Paces:
            x, *others = paces.values()
            if any(p.level <= self.level or not p.aligned for p in (x, *others)):
                return {y_name: UNALIGNED}
            groups = sum(p.groups for p in (x, *others)) if not inside else x.groups
            y = replace(x.after(*others), groups=groups, opened=False, prompt=False, replayed="")
            return {y_name: y}

        meets = dict.fromkeys(xs, self.level + 1 if inside else RUN)
        return [Part(xs, (y_name,), follow, meets=meets)]
