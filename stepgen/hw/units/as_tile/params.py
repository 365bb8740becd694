"""AsTile: rows of addresses, and flags, become tiles of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.operations import CONVERSIONS
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.dtypes import ELEMENTS, NUMBERS, ElementType, address, bool_, int32
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class AsTile(UnitParams):
    """``y`` has a tile ``[1, columns]`` for each beat of ``x``.

    Parameters
    ----------
    operand : str
        What ``x`` has: address, or bool.
    element : str
        Element type of ``y``, to which they are converted; of flags it may be bool.
    columns : int
        How many there are in a beat of ``x``.
    """

    operand: str
    element: str
    columns: int

    kind: ClassVar = "as_tile"
    main: ClassVar = "convert"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def to(self) -> ElementType:
        """Element type of ``y``."""
        return ELEMENTS[self.element]

    @property
    def of_addresses(self) -> bool:
        """Whether it converts addresses."""
        return self.operand == address.name

    @property
    def lowered(self) -> int:
        """A tile has two dims more."""
        return -TILE_LEVELS

    @property
    def keeps(self) -> bool:
        """Whether flags stay flags."""
        return self.operand == self.element == bool_.name

    def slices(self, lanes: int) -> int:
        """Beats of a tile."""
        return -(-self.columns // lanes)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        x = unit.inputs["x"]
        return {UNTOLD: f"{unit.name} gets a number of {x} that is too large for its wires"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.operand not in (address.name, bool_.name):
            return f"it takes addresses or flags, not {self.operand}"
        if not self.keeps and self.element not in [e.name for e in NUMBERS]:
            return f"{self.element} is not a type of numbers"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        x = design.channel[unit.inputs["x"]]
        if x.rank is None:
            return "x needs a channel with structure, not a raw one"
        given = Format(self.columns, max(1, x.bits) if self.of_addresses else 1, x.rank)
        delay = self.delay(design.lanes)
        y = Format(design.lanes, self.to.bits, x.rank + TILE_LEVELS, delay)
        return misfit(unit, design, x=given, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        if self.of_addresses:
            return 1 if self.to == int32 else CONVERSIONS[int32, self.to]
        return 0 if self.keeps else CONVERSIONS[bool_, self.to]

    def extents(self, x: Extents) -> Extents:
        """A row has at most a beat for each column."""
        return [Extent.of(static(self.columns)), Extent.of(static(1)), *x]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; a beat becomes a tile."""
        x, y = unit.inputs["x"], unit.outputs["y"]

        def follow(paces: Paces) -> Paces:
            return {y: replace(paces[x].moved(0, TILE_LEVELS), replayed="")}

        return [Part((x,), (y,), follow, turn=max(1, int(extents[y][0].bound)))]
