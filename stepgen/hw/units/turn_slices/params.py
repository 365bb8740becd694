"""TurnSlices: the columns of each L rows of a tile, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part, Queue
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.wire import TILE_LEVELS

BUFFERS = 2
"""Blocks of L rows in memory: one is written while the one before it is read."""


@dataclass(frozen=True)
class TurnSlices(UnitParams):
    """``y`` has a row for each L rows of a tile of ``x``, each beat of which is one of its columns.

    Behind the last row of a tile there are zeros. A tile has any number of rows, but at least one.

    Parameters
    ----------
    columns : int
        Elements of a row of ``x``, and beats of a row of ``y``.
    bits : int
        Bits of an element.
    """

    columns: int
    bits: int

    kind: ClassVar = "turn_slices"
    main: ClassVar = "read"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def slices(self, lanes: int) -> int:
        """Beats of a row of ``x``."""
        return -(-self.columns // lanes)

    def block(self, lanes: int) -> int:
        """Elements of a block in a memory, of which there is one for each lane."""
        return self.slices(lanes) * lanes

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        if self.columns < 1:
            return f"a tile needs at least 1 column, not {self.columns}"
        x = Format(design.lanes, self.bits, rank)
        return misfit(unit, design, x=x, y=x._replace(delay=self.delay(design.lanes)))

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.BLOCK_RAM

    def turned(self, x: Extents, lanes: int) -> Extents:
        """The dims of the output by those of the input."""
        rows = x[1]
        blocks = rows.bound if rows.bound == float("inf") else -(-rows.bound // lanes)
        beats = Extent(self.columns, False, str(self.columns))
        return [beats, Extent(blocks, rows.may_be_empty, rows.name), *x[TILE_LEVELS:]]

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """From the writing to the reading side: a beat per block, with the number of its last row.

        Its place is free when the block has been read, so it stands for the block's buffer too.
        """
        rank = design.channel[unit.inputs["x"]].rank
        bits = max(1, (design.lanes - 1).bit_length())
        return [Channel("blocks", 1, bits, rank, depth=BUFFERS)]

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """A memory for each lane."""
        return design.lanes * [Ram(self.bits, max(2, BUFFERS * self.block(design.lanes)))]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one writes blocks, the other reads one once it is complete."""
        x, y, blocks = unit.inputs["x"], unit.outputs["y"], f"{unit.name}.blocks"
        queue = Queue(extents[y], [(1, BUFFERS)])

        def write(paces: Paces) -> Paces:
            tile = paces[x].moved(TILE_LEVELS, 0)
            return {blocks: replace(tile, opened=False, prompt=False, replayed="")}

        def read(paces: Paces) -> Paces:
            return {y: replace(paces[blocks], prompt=False)}

        return [
            Part((x,), (blocks,), write, queues={blocks: queue}),
            Part((blocks,), (y,), read, turn=self.columns),
        ]
