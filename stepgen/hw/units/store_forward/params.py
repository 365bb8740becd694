"""StoreForward: passes a chunk on when all of it has arrived."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Channel, Design, Unit

BEYOND = 2
"""Words beyond a chunk with which the next one is stored without a gap while one leaves."""


@dataclass(frozen=True)
class StoreForward(UnitParams):
    """``y`` is the stream ``x``, of which no beat of a chunk leaves before its last has come.

    Parameters
    ----------
    level : int
        Wire level that closes a chunk.
    largest : int
        Most beats of a chunk, for which there is memory.
    """

    level: int
    largest: int

    kind: ClassVar = "store_forward"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def problem(self, unit: Unit, design: Design) -> str | None:
        x = design.channel[unit.inputs["x"]]
        if x.rank is None or not 0 <= self.level <= x.rank:
            return f"the level {self.level} of a chunk must be within 0..{x.rank or 0}"
        if self.largest < 1:
            return f"a chunk must have at least 1 beat, not {self.largest}"
        return misfit(unit, design, y=Format(x.lanes, x.bits, x.rank))

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """``stored``: the beats."""
        y = design.channel[unit.outputs["y"]]
        return [Channel("stored", y.lanes, y.bits, y.rank, depth=self.largest + BEYOND)]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; only complete chunks leave."""
        x_name, y_name = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            x = replace(paces[x_name], opened=False, prompt=False, replayed="")
            return {y_name: x.moved(self.level, 0)}

        return [Part((x_name,), (y_name,), follow)]
