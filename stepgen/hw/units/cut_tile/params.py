"""CutTile: a tile becomes a group of tiles of some of its columns, from a memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part, Queue
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.wire import TILE_LEVELS

BUFFERS = 2
"""Tiles in memory: one is written while the one before it is read."""


@dataclass(frozen=True)
class CutTile(UnitParams):
    """``y`` has a group of tiles ``[R, width]`` for each tile ``[R, columns]`` of ``x``.

    Parameters
    ----------
    columns : int
        Elements of a row.
    width : int
        Elements of a part of a row: whole beats, or an equal part of one.
    rows : int
        Most rows of a tile.
    bits : int
        Bits of an element.
    """

    columns: int
    width: int
    rows: int
    bits: int

    kind: ClassVar = "cut_tile"
    main: ClassVar = "read"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // lanes)

    @property
    def parts_of_row(self) -> int:
        """Parts of a row."""
        return self.columns // self.width

    def part_slices(self, lanes: int) -> int:
        """Beats of a part."""
        return -(-self.width // lanes)

    def tile_beats(self, lanes: int) -> int:
        """Most beats of a tile."""
        return self.rows * self.slices(lanes)

    def depth(self, lanes: int) -> int:
        """Beats that the memory holds."""
        return BUFFERS * self.tile_beats(lanes)

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or rank < TILE_LEVELS:
            return "x must have tiles"
        if min(self.columns, self.width, self.rows) < 1:
            return (
                f"a tile and its parts need at least 1 column and row, not {self.columns}, "
                f"{self.width} and {self.rows}"
            )
        if self.columns % self.width:
            return f"rows of {self.columns} columns can't be cut into parts of {self.width}"
        if self.width % design.lanes and design.lanes % self.width:
            return f"parts of {self.width} columns begin within beats of {design.lanes} lanes"
        x = Format(design.lanes, self.bits, rank)
        y = x._replace(rank=rank + 1, delay=self.delay(design.lanes))
        return misfit(unit, design, x=x, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.BLOCK_RAM

    def extents(self, x: Extents) -> Extents:
        parts = Extent.of(static(self.parts_of_row))
        beats = Extent.of(static(math.ceil(x[0].bound / self.parts_of_row)))
        return [beats, x[1], parts, *x[TILE_LEVELS:]]

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """From the writing to the reading side: a beat per tile, with the number of its last row.

        Its place is free when the tile has been read, so it stands for the tile's buffer too.
        """
        rank = design.channel[unit.inputs["x"]].rank
        bits = max(1, (self.rows - 1).bit_length())
        return [Channel("tiles", 1, bits, rank, depth=BUFFERS)]

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The tile memory."""
        return [Ram(design.lanes * self.bits, self.depth(design.lanes))]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one writes tiles, the other reads one once it is complete."""
        x, y, tiles = unit.inputs["x"], unit.outputs["y"], f"{unit.name}.tiles"
        dims = extents[x]
        queue = Queue(dims, [(TILE_LEVELS, BUFFERS)])

        def write(paces: Paces) -> Paces:
            tile = paces[x].moved(TILE_LEVELS, 0)
            whole = tiles if tile.count(dims, TILE_LEVELS) == 1 else ""
            return {tiles: replace(tile, opened=False, replayed="", closed=whole)}

        def read(paces: Paces) -> Paces:
            tile = paces[tiles].moved(TILE_LEVELS, 1)
            return {y: replace(tile, prompt=False)}

        return [
            Part((x,), (tiles,), write, queues={tiles: queue}),
            Part((tiles,), (y,), read, turn=self.parts_of_row),
        ]
