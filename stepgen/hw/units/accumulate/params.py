"""Accumulate: folds the tiles of a chunk, element by element, into a state on chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.arithmetic.formulas import formula
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Lane, Recurrence, written
from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Paces, Part, Queue, copied
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Design, Unit
from stepgen.ir.dims import buffer_bound
from stepgen.ir.dtypes import Tile
from stepgen.ir.errors import StepError
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class Accumulate(UnitParams):
    """Folds each chunk of tiles into a state of their size, element by element.

    Parameters
    ----------
    operands : tuple of str
        Element types: of the state, then of the operand streams.
    operations : tuple of Operation
        The arithmetic of an update, as in `stepgen.hw.arithmetic.pipeline.Recurrence`.
    start : int
        Bit pattern of every element of the state before the first update.
    level : int
        Wire level of ``x`` that closes a chunk: 2 + rank.
    slices : int
        Beats of a row of a tile.
    rows : int
        Most rows of a tile.
    fixed : bool
        Whether all tiles have that many rows.
    every : bool
        Whether the state is sent after each tile (Scan), else after each chunk (Accum).
    columns : int
        Of a tile, if they are fewer than the lanes of a beat; 0 otherwise. Lanes behind them have
        no pipeline and no state.
    """

    operands: tuple[str, ...]
    operations: tuple[Operation, ...]
    start: int
    level: int
    slices: int
    rows: int
    fixed: bool
    every: bool
    columns: int = 0

    kind: ClassVar = "accumulate"
    main: ClassVar = "update"
    outputs: ClassVar = ("y",)

    @property
    def inputs(self) -> tuple[str, ...]:
        """One operand is ``x``, several are ``x_0``, ``x_1``, …"""
        count = len(self.operands) - 1
        return ("x",) if count == 1 else numbered("x", count)

    @property
    def pipeline(self) -> Recurrence:
        """The arithmetic of one lane: the state comes first."""
        return Recurrence(self.operands, self.operations)

    def summary(self) -> dict[str, object]:
        operations = formula(("state", *self.inputs), self.operations)
        return super().summary() | {"operations": operations}

    @property
    def whole(self) -> int:
        """Beats of a tile with all rows."""
        return self.rows * self.slices

    @property
    def beats(self) -> int:
        """Beats that there must be space for."""
        return max(1, self.whole)

    @property
    def least(self) -> int:
        """Fewest beats of a tile that has rows."""
        return self.beats if self.fixed else self.slices

    @property
    def depth(self) -> int:
        """Beats that the memory holds."""
        return max(2, self.beats)

    @property
    def ahead(self) -> int:
        """Cycles from the handshake of a beat until its part of the state is there."""
        return max(stages.BLOCK_RAM, self.pipeline.lead)

    def problem(self, unit: Unit, design: Design) -> str | None:
        pipeline = self.pipeline
        if len(self.operands) < 2:
            return "it needs the element types of the state and of at least one operand"
        if wrong := pipeline.problem():
            return wrong
        state, *others = pipeline.values[: len(self.operands)]
        if pipeline.element != state.element:
            return f"an update makes {pipeline.element}, but the state is {state.element}"
        if not 0 <= self.start < 1 << state.element.bits:
            return f"a state of {state.element} can't start at {self.start}"
        rank = design.channel[unit.inputs[self.inputs[0]]].rank
        if rank is None or not TILE_LEVELS < self.level <= rank:
            return f"the level {self.level} of a chunk must be within 3..{rank or 0}"
        if self.slices < 1 or self.rows < 0:
            return f"tiles need slices and rows, not {self.slices} and {self.rows}"
        if self.columns < 0 or (self.columns and self.slices > 1):
            return f"rows of {self.slices} beats don't end behind {self.columns} columns"
        for port, value in zip(self.inputs, others, strict=True):
            element = design.channel[unit.inputs[port]].element
            if element not in ("", value.element.name):
                return f"{port} must carry {value.element}, not {element}"
        wanted = {
            port: Format(design.lanes, value.element.bits, rank)
            for port, value in zip(self.inputs, others, strict=True)
        }
        left = rank if self.every else rank - (self.level - TILE_LEVELS)
        y = Format(design.lanes, state.element.bits, left, self.delay(design.lanes))
        return misfit(unit, design, **wanted, y=y)

    def beat_lanes(self, lanes: int) -> int:
        """Lanes of a beat that have a pipeline and a state."""
        return min(lanes, self.columns or lanes)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles: to the state, or to the updated one."""
        return self.ahead + (self.pipeline.loop if self.every else 0)

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The state, and the tables of constants of all lanes."""
        lanes = self.beat_lanes(design.lanes)
        state = Ram(lanes * self.pipeline.element.bits, self.depth)
        return [state, *lanes * self.pipeline.tables]

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of all lanes."""
        return self.beat_lanes(design.lanes) * self.pipeline.multipliers

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one folds a chunk, the other sends the state once the chunk is complete."""
        if self.every:
            return super().parts(unit, extents)
        xs, y, state = tuple(unit.inputs.values()), unit.outputs["y"], f"{unit.name}.state"

        def fold(paces: Paces) -> Paces:
            (beats,) = copied(state)(paces).values()
            chunk = beats.moved(self.level, TILE_LEVELS - self.level)
            return {state: replace(chunk, opened=False, replayed="", closed=chunk.replayed)}

        def send(paces: Paces) -> Paces:
            tile = paces[state]
            whole = state if tile.count(extents[y], TILE_LEVELS) == 1 else ""
            return {y: replace(tile, closed=whole)}

        queue = Queue(extents[y], [(TILE_LEVELS, 1)])
        return [
            Part(xs, (state,), fold, queues={state: queue}),
            Part((state,), (y,), send),
        ]


def of_function(
    update: Callable[..., Lane | None],
    tiles: Sequence[Tile],
    start: int,
    level: int,
    lanes: int,
    *,
    every: bool,
) -> Accumulate | None:
    """The unit of an element-wise fold, if its function writes down an update.

    Parameters
    ----------
    update : callable
        Makes the state's `Lane` of the state's and one of each operand; None if it has no circuit.
    tiles : sequence of Tile
        Types of the state, then of the operands.
    start, level, every
        As for `Accumulate`.
    lanes : int
        Lanes of a beat.

    Raises
    ------
    StepError
        If tiles have different extents, or rows without a bound.
    """
    pipeline = written(update, tiles)
    if pipeline is None:
        return None
    state, *others = tiles
    for other in others:
        if not (other.rows.same(state.rows) and other.cols.same(state.cols)):
            raise StepError(f"circuits fold tiles of the state's extents, {state}, not {other}")
    cols = state.cols.static
    assert cols is not None
    return Accumulate(
        operands=pipeline.inputs,
        operations=pipeline.operations,
        start=start,
        level=level,
        slices=-(-cols // lanes),
        rows=buffer_bound(f"the number of rows of {state}", [state.rows]),
        fixed=state.rows.static is not None,
        every=every,
        columns=cols if cols < lanes else 0,
    )
