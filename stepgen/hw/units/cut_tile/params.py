"""CutTile: a tile becomes a group of tiles of one column, from a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.dims import static
from ....ir.wire import TILE_LEVELS
from ...design import stages
from ...design.formats import Format, misfit
from ...design.pace import Extent, Extents, Paces, Part, Queue
from ...design.params import UnitParams
from ...design.ram import Ram
from ...design.table import Channel, Design, Unit

BUFFERS = 2
"""Tiles in memory: one is written while the one before it is read."""


@dataclass(frozen=True)
class CutTile(UnitParams):
    """``y`` has a group of tiles ``[R, 1]`` for each tile ``[R, C]`` of ``x``.

    Parameters
    ----------
    columns : int
        Elements of a row.
    rows : int
        Most rows of a tile.
    bits : int
        Bits of an element.
    """

    columns: int
    rows: int
    bits: int

    kind: ClassVar = "cut_tile"
    main: ClassVar = "read"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    def slices(self, lanes: int) -> int:
        """Beats of a row."""
        return -(-self.columns // lanes)

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
        if min(self.columns, self.rows) < 1:
            return f"a tile needs at least 1 column and row, not {self.columns} and {self.rows}"
        x = Format(design.lanes, self.bits, rank)
        y = x._replace(rank=rank + 1, delay=self.delay(design.lanes))
        return misfit(unit, design, x=x, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.BLOCK_RAM

    def extents(self, x: Extents) -> Extents:
        one, columns = Extent.of(static(1)), Extent.of(static(self.columns))
        return [one, x[1], columns, *x[TILE_LEVELS:]]

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
            Part((tiles,), (y,), read, turn=self.columns),
        ]
