"""PCU, the pattern compute unit: a pipeline of arithmetic on the lanes of aligned beats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from stepgen.hw.arithmetic.formulas import formula
from stepgen.hw.arithmetic.operations import LOOKUP_ROWS, PLACES, SCALED, Operation
from stepgen.hw.arithmetic.pipeline import Lane, Pipeline, written
from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.wire import TILE_LEVELS

__all__ = ["LOOKUP_ROWS", "PLACES", "SCALED", "Lane", "Pcu", "joined", "of_function"]

Broadcast = Literal["", "cols", "rows", "both"]
"""How an operand is broadcast: its one column, its one row, or its one element."""

ALIGNED: dict[Broadcast, int] = {"": 0, "cols": 1, "rows": TILE_LEVELS, "both": TILE_LEVELS}
"""Wire level from which on the groups of an operand are those of the result."""


@dataclass(frozen=True)
class Pcu(UnitParams):
    """Applies a pipeline to each lane of its operands, which have the same groups of tiles.

    A beat of an operand with one column is held for a row, its lane 0 is the operand of all lanes.
    An operand with one row is kept for the rows of a tile; so is one with one element.

    Parameters
    ----------
    operands : tuple of str
        Element types of the operand streams.
    operations : tuple of Operation
        Their arithmetic, as in `stepgen.hw.arithmetic.pipeline.Pipeline`.
    broadcast : tuple of Broadcast
        Of each operand; empty if none is broadcast, and then all have the same stops.
    slices : int
        Beats of a row of the result, for operands that are broadcast.
    single : bool
        Whether rows have no static number of columns, so that a beat of those that are not
        broadcast along them is one element.
    columns : int
        Of the result, if they are fewer than the lanes of a beat; 0 otherwise. Lanes behind them
        have no pipeline.
    """

    operands: tuple[str, ...]
    operations: tuple[Operation, ...]
    broadcast: tuple[Broadcast, ...] = ()
    slices: int = 1
    single: bool = False
    columns: int = 0

    kind: ClassVar = "pcu"
    main: ClassVar = "compute"
    tiled: ClassVar = True
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One operand is ``x``, several are ``x_0``, ``x_1``, …"""
        return ("x",) if len(self.operands) == 1 else numbered("x", len(self.operands))

    @property
    def pipeline(self) -> Pipeline:
        """The arithmetic of one lane."""
        return Pipeline(self.operands, self.operations)

    @property
    def lead(self) -> int:
        """The first operand that has all rows of the result: its levels are those of the result.

        Where no number of columns is known it also has all columns, and so shows where rows end.
        """
        leads = ("",) if self.single else ("", "cols")
        return next(n for n, how in enumerate(self.broadcast) if how in leads)

    def applied(self, element: str, bits: int) -> int | str:
        pipeline = self.pipeline
        if len(self.operands) != 1 or any(self.broadcast):
            return f"has {len(self.operands)} operands, not one that is like its result"
        if wrong := pipeline.problem():
            return f"can't be computed: {wrong}"
        operand = pipeline.values[0].element
        if (element, bits) != (operand.name, operand.bits):
            return f"takes {operand} of {operand.bits} bits, not {element} of {bits}"
        return pipeline.element.bits

    def beat_lanes(self, lanes: int) -> int:
        """Lanes of a beat of the result that have a pipeline."""
        return 1 if self.single else min(lanes, self.columns or lanes)

    def summary(self) -> dict[str, object]:
        return super().summary() | {"operations": formula(self.inputs, self.operations)}

    def stored(self, operand: int) -> bool:
        """Whether the row of an operand is in a memory, since it has several beats."""
        return self.broadcast[operand] == "rows" and self.slices > 1

    @property
    def rows_stored(self) -> int:
        """How many operands are in a memory."""
        return sum(self.stored(n) for n in range(len(self.broadcast)))

    @property
    def reading(self) -> int:
        """Cycles from the handshake until all operands are there."""
        return stages.BLOCK_RAM if self.rows_stored else 0

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.broadcast and (
            len(self.broadcast) != len(self.operands) or not {"", "cols"} & {*self.broadcast}
        ):
            broadcast = ", ".join(how or "no" for how in self.broadcast)
            return f"{len(self.operands)} operands can't be broadcast by {broadcast}"
        if (
            self.single
            and self.broadcast
            and ("" not in self.broadcast or "rows" in self.broadcast)
        ):
            return "rows of no static number of columns can't be broadcast"
        if self.slices < 1:
            return f"a row must have at least 1 beat, not {self.slices}"
        if self.columns < 0 or (self.columns and (self.slices > 1 or self.single)):
            return f"rows of {self.slices} beats don't end behind {self.columns} columns"
        pipeline = self.pipeline
        if wrong := pipeline.problem():
            return wrong
        rank = design.channel[unit.inputs[self.inputs[0]]].rank or 0
        width = 1 if self.single else design.lanes
        hows = self.broadcast or [""] * len(self.operands)
        wanted = {
            port: Format(width if how == "" else design.lanes, value.element.bits, rank)
            for port, how, value in zip(self.inputs, hows, pipeline.values, strict=False)
        }
        for port, value in zip(self.inputs, pipeline.values, strict=False):
            element = design.channel[unit.inputs[port]].element
            if element not in ("", value.element.name):
                return f"{port} must carry {value.element}, not {element}"
        y = Format(width, pipeline.element.bits, rank, self.delay(design.lanes))
        return misfit(unit, design, **wanted, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return self.reading + self.pipeline.stages

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The rows that are stored, and the tables of constants of all lanes."""
        bits = [value.element.bits for value in self.pipeline.values]
        kept = [bits[n] for n in range(len(self.broadcast)) if self.stored(n)]
        rows = [Ram(design.lanes * width, self.slices) for width in kept]
        return [*rows, *self.beat_lanes(design.lanes) * self.pipeline.tables]

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of all lanes."""
        return self.beat_lanes(design.lanes) * self.pipeline.multipliers

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One; operands that are broadcast meet the others row by row or tile by tile."""
        if not any(self.broadcast):
            return super().parts(unit, extents)
        y = unit.outputs["y"]
        levels = [ALIGNED[how] for how in self.broadcast]
        aligned = dict(zip(unit.inputs.values(), levels, strict=True))

        def follow(paces: Paces) -> Paces:
            known = sorted((c for c in aligned if c in paces), key=lambda c: aligned[c])
            main, *others = (paces[c].moved(aligned[c], 0) for c in known)
            return {y: main.after(*others)}

        meets = dict.fromkeys(aligned, max(levels))
        return [Part(tuple(aligned), (y,), follow, meets=meets)]


def joined(outer: Pcu, at: int, inner: Pcu) -> Pcu | None:
    """The PCU that computes `inner` and with it, as operand `at`, `outer`; None if there is none.

    `outer` must not broadcast that operand: the result of `inner` has all rows and columns.
    """
    if any(outer.broadcast) and outer.broadcast[at]:
        return None
    if not outer.operations and at:  # its result is its first operand
        return None
    operands = (*outer.operands[:at], *inner.operands, *outer.operands[at + 1 :])
    more, last = len(inner.operands) - 1, len(operands) + len(inner.operations) - 1

    def of_inner(value: int) -> int:
        return value + (at if value < len(inner.operands) else len(operands) - more - 1)

    def of_outer(value: int) -> int:
        if value == at:
            return last if inner.operations else at
        if value < len(outer.operands):
            return value + (more if value > at else 0)
        return value - len(outer.operands) + last + 1

    operations = [
        replace(o, operands=tuple(map(moved, o.operands)))
        for part, moved in ((inner, of_inner), (outer, of_outer))
        for o in part.operations
    ]
    spread = outer if any(outer.broadcast) else inner
    how: list[Broadcast] = [*(outer.broadcast or [""] * len(outer.operands))]
    how[at : at + 1] = inner.broadcast or [""] * len(inner.operands)
    if not any(how):
        return Pcu(operands, tuple(operations), single=outer.single, columns=outer.columns)
    return Pcu(operands, tuple(operations), tuple(how), spread.slices, outer.single, outer.columns)


def of_function(
    function: Callable[..., Lane | None], tiles: Sequence[Tile], lanes: int
) -> Pcu | None:
    """The PCU of an element-wise function, if it writes down its arithmetic.

    Parameters
    ----------
    function : callable
        Makes the result's `Lane` of one lane of each operand; None if it has no circuit.
    tiles : sequence of Tile
        Types of the operands, then of the result.
    lanes : int
        Of a beat.

    Raises
    ------
    StepError
        If an operand has other extents than the result, and not 1 in their place.
    """
    *operands, result = tiles
    pipeline = written(function, operands)
    if pipeline is None:
        return None
    broadcast, single = tuple(_broadcast(o, result) for o in operands), result.cols.static is None
    columns = result.cols.static or 0
    short = columns if columns < lanes else 0
    if not any(broadcast):
        return Pcu(pipeline.inputs, pipeline.operations, single=single, columns=short)
    if single and ("rows" in broadcast or "" not in broadcast):
        raise StepError(
            f"circuits compute {result}, of dynamic columns, of tiles of its extents, of its rows "
            f"and one column, and of one element, not of {', '.join(map(str, operands))}"
        )
    slices = -(-max(columns, 1) // lanes)
    return Pcu(pipeline.inputs, pipeline.operations, broadcast, slices, single, short)


def _broadcast(operand: Tile, result: Tile) -> Broadcast:
    """How an operand is broadcast to the extents of the result."""
    rows, cols = operand.rows.same(result.rows), operand.cols.same(result.cols)
    if not (rows or operand.rows == 1) or not (cols or operand.cols == 1):
        raise StepError(f"circuits compute {result} of tiles of its extents or of 1, not {operand}")
    if rows:
        return "" if cols else "cols"
    return "rows" if cols else "both"
