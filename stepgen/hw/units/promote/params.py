"""Promote: adds a dim of extent 1."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.restop import Levels
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class Promote(UnitParams):
    """``y`` is the stream ``x`` with an additional dim of extent 1; of several, each is.

    Parameters
    ----------
    level : int
        Wire level above which the dim is inserted: each group of this level becomes a group of the
        new dim, with extent 1.
    outermost : bool
        Whether the new dim is above all others: only ``DONE`` marks its end, so the last beat waits
        in a holding register.
    branches : int
        Number of outputs, at least 1, which get each beat in the same cycle.
    """

    level: int
    outermost: bool
    branches: int = 1

    kind: ClassVar = "promote"
    inputs: ClassVar = ("x",)

    @property
    def outputs(self) -> tuple[str, ...]:
        """``y``, or one for each branch."""
        return ("y",) if self.branches == 1 else numbered("y", self.branches)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.branches < 1:
            return f"it needs at least 1 branch, not {self.branches}"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or not 0 <= self.level <= x.rank + 1:
            return f"the level {self.level} of the new dim must be within 0..{(x.rank or 0) + 1}"
        if self.outermost != (self.level == x.rank + 1):
            return f"with x of rank {x.rank} level {self.level} is not outermost={self.outermost}"
        y = Format(x.lanes, x.bits, x.rank + 1)
        return misfit(unit, design, **dict.fromkeys(self.outputs, y))

    def extents(self, x: Extents) -> Extents:
        return [*x[: self.level], Extent.of(static(1)), *x[self.level :]]

    def branched(self, count: int) -> Promote | None:
        """Any one of a single output."""
        return replace(self, branches=count) if self.branches == 1 else None

    def rewritten(self, rank: int) -> Levels | None:
        if self.outermost or self.level > rank:
            return None
        stops = [level + (level >= self.level) for level in range(rank + 1)]
        empty = [level + (level > self.level) for level in range(rank + 1)]
        return Levels(rank + 1, tuple(stops), tuple(empty))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a beat that may be the last leaves when the next one arrives."""
        x_name, ys = unit.inputs["x"], tuple(unit.outputs.values())

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            if not self.outermost:
                y = x.moved(self.level, 1) if x.level >= self.level else x
                y = replace(y, replayed=y.replayed if self.level >= TILE_LEVELS else "")
            else:
                y = replace(x, lag=math.inf if x.sparse else x.lag + 1, opened=False, prompt=False)
            return dict.fromkeys(ys, y)

        return [Part((x_name,), ys, follow)]
