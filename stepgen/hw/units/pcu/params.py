"""PCU, the pattern compute unit: a pipeline of arithmetic on the lanes of aligned beats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....ir.dtypes import Tile
from ....ir.errors import StepError
from ...arithmetic.operations import Operation
from ...arithmetic.pipeline import Lane, Pipeline, written
from ...design.formats import Format, misfit
from ...design.params import UnitParams, numbered
from ...design.table import Design, Unit

__all__ = ["Lane", "Pcu", "of_function"]


@dataclass(frozen=True)
class Pcu(UnitParams):
    """Applies a pipeline to each lane of its operands, which have the same stops.

    Parameters
    ----------
    operands : tuple of str
        Element types of the operand streams.
    operations : tuple of Operation
        Their arithmetic, as in `stepgen.hw.arithmetic.pipeline.Pipeline`.
    """

    operands: tuple[str, ...]
    operations: tuple[Operation, ...]

    kind: ClassVar = "pcu"
    main: ClassVar = "compute"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One operand is ``x``, several are ``x_0``, ``x_1``, …"""
        return ("x",) if len(self.operands) == 1 else numbered("x", len(self.operands))

    @property
    def pipeline(self) -> Pipeline:
        """The arithmetic of one lane."""
        return Pipeline(self.operands, self.operations)

    def problem(self, unit: Unit, design: Design) -> str | None:
        pipeline = self.pipeline
        if wrong := pipeline.problem():
            return wrong
        rank = design.channel[unit.inputs[self.inputs[0]]].rank or 0
        wanted = {
            port: Format(design.lanes, value.element.bits, rank)
            for port, value in zip(self.inputs, pipeline.values, strict=False)
        }
        for port, value in zip(self.inputs, pipeline.values, strict=False):
            element = design.channel[unit.inputs[port]].element
            if element not in ("", value.element.name):
                return f"{port} must carry {value.element}, not {element}"
        y = Format(design.lanes, pipeline.element.bits, rank, pipeline.stages)
        return misfit(unit, design, **wanted, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return self.pipeline.stages

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of all lanes."""
        return design.lanes * self.pipeline.multipliers


def of_function(function: Callable[..., Lane | None], tiles: Sequence[Tile]) -> Pcu | None:
    """The PCU of an element-wise function, if it writes down its arithmetic.

    Parameters
    ----------
    function : callable
        Makes the result's `Lane` of one lane of each operand; None if it has no circuit.
    tiles : sequence of Tile
        Types of the operands, then of the result.

    Raises
    ------
    StepError
        If operands have different extents: rows or columns would have to be broadcast.
    """
    operands = tiles[:-1]
    pipeline = written(function, operands)
    if pipeline is None:
        return None
    first = operands[0]
    for other in operands[1:]:
        if not (other.rows.same(first.rows) and other.cols.same(first.cols)):
            raise StepError(
                f"circuits take operands of the same extents, not {first} and {other}: "
                f"rows and columns are not broadcast yet"
            )
    return Pcu(pipeline.inputs, pipeline.operations)
