"""Group: splits a dim of static extent into chunks, without padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Design, Unit


@dataclass(frozen=True)
class Group(UnitParams):
    """``y`` is the stream ``x`` with a dim of static extent split into chunks.

    Parameters
    ----------
    level : int
        Wire level that closes an item of the dim: ``base level + dim``.
    chunk : int
        Items of a group, at least 1; the extent of the dim is a multiple of it.
    """

    level: int
    chunk: int

    kind: ClassVar = "group"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of an item must be within 0..{x.rank or 0}"
        if self.chunk < 1:
            return f"a chunk must have at least 1 item, not {self.chunk}"
        return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank + 1))

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, without a holding register."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            x = paces[x_name]
            return {y_name: x.moved(self.level + 1, 1) if x.level > self.level else x}

        return [Part((x_name,), (y_name,), follow)]
