"""ReduceRows: reduces each row of a tile to one element, by a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.formulas import formula
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Lane, Pipeline, pattern, written
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import buffer_bound
from stepgen.ir.dtypes import ELEMENTS, INTEGERS, ElementType, Tile


@dataclass(frozen=True)
class ReduceRows(UnitParams):
    """Reduces rows of ``x`` to one element each, in a balanced tree of adjacent pairs.

    Beats of integers that are added are added up one after the other, which gives the same sum.

    Parameters
    ----------
    operand : str
        Element type of ``x``.
    element : str
        Element type of ``y``, to which elements are converted first.
    operations : tuple of Operation
        The arithmetic of a pair, as in `stepgen.hw.arithmetic.pipeline.Pipeline`.
    identity : int
        Bit pattern of the number that leaves any other as it is.
    columns : int
        Elements of a row, or most of them.
    single : bool
        Whether rows have no static number of them, so that a beat is one.
    """

    operand: str
    element: str
    operations: tuple[Operation, ...]
    identity: int
    columns: int
    single: bool = False

    kind: ClassVar = "reduce_rows"
    main: ClassVar = "reduce"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def conversion(self) -> Pipeline:
        """From an element of ``x`` to one of ``y``."""
        to = Operation("convert", (0,), self.element)
        return Pipeline((self.operand,), () if self.operand == self.element else (to,))

    @property
    def pair(self) -> Pipeline:
        """From two elements to one."""
        return Pipeline((self.element, self.element), self.operations)

    @property
    def adds_up(self) -> bool:
        """Whether beats are added up in the register of an adder of one stage.

        Sums of integers don't depend on the order.
        """
        names = [operation.name for operation in self.operations]
        integers = ELEMENTS[self.element] in INTEGERS
        return names == ["add"] and integers and self.pair.stages == 1

    def summary(self) -> dict[str, object]:
        return super().summary() | {"operations": formula(("a", "b"), self.operations)}

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // self.beat_lanes(lanes))

    def beat_lanes(self, lanes: int) -> int:
        """Lanes of a beat of ``x``."""
        return 1 if self.single else lanes

    def levels(self, lanes: int) -> tuple[int, int]:
        """Levels of the tree over the lanes of a beat, and over the beats of a row."""
        over_beats = (self.slices(lanes) - 1).bit_length()
        over_lanes = (self.beat_lanes(lanes) - 1).bit_length()
        return over_lanes, min(over_beats, 1) if self.adds_up else over_beats

    def problem(self, unit: Unit, design: Design) -> str | None:
        for name in (self.operand, self.element):
            if name not in ELEMENTS:
                return f"{name} is not an element type"
        for pipeline in (self.conversion, self.pair):
            if wrong := pipeline.problem():
                return wrong
        element = ELEMENTS[self.element]
        if self.pair.element != element:
            return f"a pair of {element} makes {self.pair.element}"
        if not 0 <= self.identity < 1 << element.bits:
            return f"{self.identity} is not a bit pattern of {element}"
        if self.columns < 1:
            return f"a row needs at least 1 column, not {self.columns}"
        x = design.channel[unit.inputs["x"]]
        if x.element not in ("", self.operand):
            return f"x must carry {self.operand}, not {x.element}"
        if not x.rank:
            return "x must have rows"
        wanted = Format(self.beat_lanes(design.lanes), ELEMENTS[self.operand].bits, x.rank)
        y = Format(design.lanes, element.bits, x.rank, self.delay(design.lanes))
        return misfit(unit, design, x=wanted, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return self.conversion.stages + sum(self.levels(lanes)) * self.pair.stages

    def pairs(self, lanes: int) -> int:
        """Circuits of a pair: a tree over the lanes of a beat, and one for each further level."""
        return self.beat_lanes(lanes) - 1 + self.levels(lanes)[1]

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of the tree."""
        pairs, width = self.pairs(design.lanes), self.beat_lanes(design.lanes)
        converted = width * self.conversion.multipliers
        return converted + pairs * self.pair.multipliers

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The tables of constants of the tree."""
        pairs, width = self.pairs(design.lanes), self.beat_lanes(design.lanes)
        return width * self.conversion.tables + pairs * self.pair.tables

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One, which gives a beat for a complete row."""
        x, y = unit.inputs["x"], unit.outputs["y"]
        several = extents[x][0].bound > 1

        def follow(paces: Paces) -> Paces:
            rows = paces[x].moved(1, 0)
            return {y: replace(rows, opened=False, prompt=False) if several else rows}

        return [Part((x,), (y,), follow)]


def of_function(
    pair: Callable[..., Lane | None], x: Tile, element: ElementType, identity: float
) -> ReduceRows | None:
    """The unit of a reduction of rows, if its function writes down the arithmetic of a pair.

    Parameters
    ----------
    pair : callable
        Makes the `Lane` of a pair of those of its elements; None if it has no circuit.
    x : Tile
        Type of the tiles, whose columns have a bound.
    element : ElementType
        Element type of the results.
    identity : float
        The number that leaves any other as it is.
    """
    one = Tile(1, 1, element)
    pipeline = written(pair, [one, one])
    if pipeline is None:
        return None
    columns = buffer_bound(f"the number of columns of {x}", [x.cols])
    bits = pattern(identity, element) % (1 << element.bits)
    single = x.cols.static is None
    return ReduceRows(x.element.name, element.name, pipeline.operations, bits, columns, single)
