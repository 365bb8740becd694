"""Mask: elements of a tile outside of a range of columns or rows become a constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from stepgen.hw.arithmetic.pipeline import pattern
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import UNTOLD
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import Tile
from stepgen.ir.wire import ANY_NUMBER, TILE_LEVELS, wire_levels

STAGES = 3
"""The difference of numbers; what is kept of the row; where in the beat."""

By = Literal["cols", "rows", "both"]
"""Whether elements are masked by their column, their row, or by both."""


@dataclass(frozen=True)
class Mask(UnitParams):
    """``y`` is ``x`` with `value` in place of what is not kept.

    An element is kept where a distance is at least 0, and with a window below it. The distance is
    ``at - 1``, or ``last - first`` where masks go by position; from it is taken the number of the
    element's column, or of its row, or of its column less that of its row.

    Parameters
    ----------
    value : int
        Bit pattern of an element that is not kept.
    slices : int
        Beats of a row, at most where `dynamic`.
    bits : int
        Bits of an element.
    by : {"cols", "rows", "both"}
        What is taken from the distance.
    positions : bool
        Whether it masks by position.
    window : int or None
        Columns or rows that are kept, at most; None for all.
    rows : int
        Rows of a tile, at most; 1 where they do not matter.
    dynamic : bool
        Whether rows are of any length, so that elements come one by one.
    """

    value: int
    slices: int
    bits: int
    by: By = "cols"
    positions: bool = False
    window: int | None = None
    rows: int = 1
    dynamic: bool = False

    kind: ClassVar = "mask"
    main: ClassVar = "mask"
    outputs: ClassVar = ("y",)

    def lanes(self, lanes: int) -> int:
        """Elements of a beat, in a design of so many lanes."""
        return 1 if self.dynamic else lanes

    @property
    def inputs(self) -> tuple[str, ...]:
        """Tiles, and for each a number, or two positions."""
        return ("x", "last", "first") if self.positions else ("x", "at")

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        names = ", ".join(unit.inputs[port] for port in self.inputs[1:])
        large = f"{unit.name} gets a number of {names} that is too large for its wires"
        return {UNTOLD: f"{large}, or streams of different structure"}

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, *others = (design.channel[unit.inputs[port]] for port in self.inputs)
        if x.rank is None or x.rank < TILE_LEVELS:
            return "x must have tiles"
        if self.slices < 1:
            return f"a row must have at least 1 beat, not {self.slices}"
        if self.rows < 1:
            return f"a tile must have at least 1 row, not {self.rows}"
        if self.value < 0 or self.value.bit_length() > self.bits:
            return f"{self.value} is not a pattern of {self.bits} bits"
        if self.window is not None and (self.window < 1 or not self.positions):
            return f"{self.window} positions are not a window of a mask by position"
        if self.by == "both" and not self.positions:
            return "a mask by rows and columns needs positions"
        tiles = Format(self.lanes(design.lanes), self.bits, x.rank)
        form = Format(1, max(1, others[0].bits), x.rank - TILE_LEVELS)
        ports = dict.fromkeys(self.inputs[1:], form)
        return misfit(unit, design, x=tiles, **ports, y=tiles._replace(delay=STAGES))

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return STAGES

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; numbers meet the others tile by tile."""
        x, *numbers = unit.inputs.values()
        y = unit.outputs["y"]
        moves = {x: 0, **dict.fromkeys(numbers, TILE_LEVELS)}

        def follow(paces: Paces) -> Paces:
            main, *others = (paces[c].moved(0, moves[c]) for c in moves if c in paces)
            return {y: main.after(*others)}

        return [Part((x, *numbers), (y,), follow, meets={x: TILE_LEVELS})]


def of_tile(
    x: Tile, value: float, lanes: int, by: By, positions: bool, window: int | None
) -> Mask | None:
    """The unit for tiles of numbers; None for addresses."""
    if not wire_levels(x):
        return None
    bits, dynamic = x.element.bits, x.cols.static is None
    columns, rows = (ANY_NUMBER if n.bound is None else max(1, n.bound) for n in (x.cols, x.rows))
    return Mask(
        pattern(value, x.element) % (1 << bits),
        columns if dynamic else -(-columns // lanes),
        bits,
        by,
        positions,
        window,
        1 if by == "cols" else rows,
        dynamic,
    )
