"""Locate: the number of the largest or smallest element of a row, or of a chunk of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import ELEMENTS, NUMBERS, ElementType, address, int32
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class Locate(UnitParams):
    """``y`` has the number of an element, from 0, for each group of elements of ``x``.

    Parameters
    ----------
    operand : str
        Element type of ``x``.
    element : str
        What ``y`` has: addresses, or tiles of int32.
    columns : int
        Elements of a row.
    level : int
        Wire level of ``x`` that closes a group.
    smallest : bool
        Whether the smallest element is searched, and not the largest.
    """

    operand: str
    element: str
    columns: int
    level: int
    smallest: bool

    kind: ClassVar = "locate"
    main: ClassVar = "locate"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def of(self) -> ElementType:
        """Element type of ``x``."""
        return ELEMENTS[self.operand]

    @property
    def makes_addresses(self) -> bool:
        """Whether ``y`` has addresses, which have no dims of a tile."""
        return self.element == address.name

    @property
    def lowered(self) -> int:
        """The dims of a group; of a tile of numbers all but these two."""
        return self.level if self.makes_addresses else max(0, self.level - TILE_LEVELS)

    @property
    def decides(self) -> str:
        """An address."""
        return "y" if self.makes_addresses else ""

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // lanes)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles: a number of its order, a tree over the lanes, the best."""
        return 2 + (lanes - 1).bit_length()

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        return {UNTOLD: f"{unit.name} gets a chunk of {unit.inputs['x']} without elements"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operand not in [e.name for e in NUMBERS]:
            return f"{self.operand} is not a type of numbers"
        if self.element not in (address.name, int32.name):
            return f"it makes addresses or int32, not {self.element}"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        x, y = (design.channel[c] for c in (unit.inputs["x"], unit.outputs["y"]))
        if x.rank is None or not max(1, self.lowered) <= self.level <= x.rank:
            return f"x has no level {self.level}"
        given = Format(design.lanes, self.of.bits, x.rank)
        lanes, bits = (1, max(1, y.bits)) if self.makes_addresses else (design.lanes, int32.bits)
        made = Format(lanes, bits, x.rank - self.lowered, self.delay(design.lanes))
        return misfit(unit, design, x=given, y=made)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives a beat for a complete group."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        several = self.level > TILE_LEVELS or any(e.bound > 1 for e in extents[x][: self.level])

        def follow(paces: Paces) -> Paces:
            made = paces[x].moved(self.level, -self.lowered)
            return {y: replace(made, opened=False, prompt=False) if several else made}

        return [Part((x,), (y,), follow)]
