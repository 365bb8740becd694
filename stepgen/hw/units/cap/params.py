"""Cap: splits the innermost dim into chunks, of which the last of a group may be shorter."""

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
class Cap(UnitParams):
    """``y`` is the stream ``x`` with its innermost dim in chunks of at most `chunk` elements.

    Parameters
    ----------
    level : int
        Wire level that closes an element: 2 for tiles, 0 for selectors and flags.
    chunk : int
        Elements of a chunk that is full, at least 1.
    outermost : bool
        Whether no dim is above the elements: only ``DONE`` marks the end of the last chunk, so
        beats wait in a holding register.
    """

    level: int
    chunk: int
    outermost: bool

    kind: ClassVar = "cap"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of an element must be within 0..{x.rank or 0}"
        if self.outermost != (self.level == x.rank):
            return f"with x of rank {x.rank} level {self.level} is not outermost={self.outermost}"
        if self.chunk < 1:
            return f"a chunk must have at least 1 element, not {self.chunk}"
        return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank + 1))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; without a dim above an element's last beat leaves when the next one arrives."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            y = x.moved(self.level + 1, 1) if x.level > self.level else x
            y = replace(y, replayed="")
            if self.outermost:
                y = replace(y, lag=math.inf if y.sparse else y.lag + 1, opened=False, prompt=False)
            return {y_name: y}

        return [Part((x_name,), (y_name,), follow)]
