"""Flatten: merges adjacent dims into one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.restop import Levels
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Flatten(UnitParams):
    """Adjacent dims of the stream ``x`` become one dim of ``y``.

    Parameters
    ----------
    lo, hi : int
        Wire levels: the groups of level `lo` up to those below level ``hi + 1`` become one dim.
    hold : bool
        Whether inner dims may be empty below an outer one, so that the last beat of an inner group
        must wait for what follows.
    """

    lo: int
    hi: int
    hold: bool

    kind: ClassVar = "flatten"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def behind(self, inner: UnitParams, rank: int) -> Flatten | None:
        """One that flattens both, if their dims meet.

        What `inner` holds back closes dims of this one, unless there are others above them.
        """
        if not isinstance(inner, Flatten) or not self.lo <= inner.lo <= self.hi:
            return None
        hi = self.hi + inner.hi - inner.lo
        return Flatten(self.lo, hi, self.hold or (inner.hold and hi < rank))

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or not 0 <= self.lo <= self.hi <= x.rank:
            return f"the levels {self.lo} to {self.hi} must be within 0..{x.rank or 0}, in order"
        return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank - (self.hi - self.lo)))

    def extents(self, x: Extents) -> Extents:
        joined = reduce(mul, x[self.lo : self.hi + 1])
        return [*x[: self.lo], joined, *x[self.hi + 1 :]]

    def rewritten(self, rank: int) -> Levels | None:
        if self.hold or self.hi > rank:
            return None
        closed = self.hi - self.lo
        levels = tuple(
            level - closed if level > self.hi else min(level, self.lo) for level in range(rank + 1)
        )
        return Levels(rank - closed, stops=levels, empty=levels)

    def swallows(self, x: Extents) -> bool:
        return any(dim.may_be_empty for dim in x[self.lo : self.hi])

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; empty inner groups vanish, with `hold` a beat may wait for an outer group's end."""
        lo, hi, held = self.lo, self.hi, self.hold
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]
        dims = extents[x_name]
        vanish = self.swallows(dims)

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            if x.level > hi:
                y = replace(x.moved(hi, lo - hi), opened=x.opened and not held)
            else:
                y = replace(
                    x,
                    level=min(x.level, lo),
                    groups=x.count(dims, lo) if x.level > lo else x.groups,
                    sparse=x.sparse or vanish,
                    lag=math.inf if held else x.lag,
                    opened=x.opened and not vanish,
                    prompt=x.prompt and not held,
                )
            return {y_name: y}

        return [Part((x_name,), (y_name,), follow)]
