"""RetileCol: joins the tiles of a chunk by columns, in a memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extent, Extents, Paces, Part, Queue, copied
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.dims import static
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class RetileCol(UnitParams):
    """Joins the tiles of each chunk of ``x`` by columns to one tile of ``y``.

    Parameters
    ----------
    count : int
        Tiles of a chunk.
    slices : int
        Beats of one row of one tile of ``x``.
    rows : int
        Most rows of a tile.
    level : int
        Wire level of ``x`` that closes a chunk: 2 + rank.
    buffers : int
        1 or 2; with 2, a chunk can be written while the one before it is read.
    bits : int
        Bits of an element.
    """

    count: int
    slices: int
    rows: int
    level: int
    buffers: int
    bits: int

    kind: ClassVar = "retile_col"
    main: ClassVar = "read"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def row_beats(self) -> int:
        """Beats of a row of the joined tile."""
        return self.count * self.slices

    @property
    def chunk_beats(self) -> int:
        """Most beats of a joined tile."""
        return self.rows * self.row_beats

    @property
    def depth(self) -> int:
        """Beats that the memory holds."""
        return max(2, self.buffers * self.chunk_beats)

    @property
    def complete(self) -> int:
        """Most complete rows that wait to be read."""
        return min(64, max(2, self.buffers * self.rows))

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or not TILE_LEVELS <= self.level <= rank:
            return f"the level {self.level} of a chunk must be within {TILE_LEVELS}..{rank or 0}"
        if min(self.count, self.slices, self.rows) < 1:
            return (
                f"tiles, slices and rows must be at least 1, "
                f"not {self.count}, {self.slices} and {self.rows}"
            )
        if self.buffers not in (1, 2):
            return f"there must be 1 or 2 buffers, not {self.buffers}"
        x = Format(design.lanes, self.bits, rank)
        y = x._replace(rank=rank - (self.level - TILE_LEVELS), delay=self.delay(design.lanes))
        return misfit(unit, design, x=x, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return stages.BLOCK_RAM

    def extents(self, x: Extents) -> Extents:
        """A row has the beats of all tiles."""
        return [Extent.of(static(self.row_beats)), x[1], *x[self.level :]]

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """From the writing to the reading side: a beat per complete row."""
        rank = design.channel[unit.outputs["y"]].rank
        return [Channel("rows", 0, 0, rank, depth=self.complete)]

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The tile memory."""
        return [Ram(design.channel[unit.outputs["y"]].data_bits, self.depth)]

    def lean(self) -> RetileCol:
        """With memory for one chunk, which is read before the next one is written."""
        return replace(self, buffers=1)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one writes tiles, the other reads a row once the chunk's last tile has sent it."""
        x, y, rows = unit.inputs["x"], unit.outputs["y"], f"{unit.name}.rows"
        inside = Queue(extents[y], [(TILE_LEVELS, self.buffers), (1, self.complete)])

        def write(paces: Paces) -> Paces:
            chunk = paces[x].moved(self.level, TILE_LEVELS - self.level)
            closed = chunk.replayed if self.count > 1 else ""
            return {rows: replace(chunk, opened=False, replayed="", closed=closed)}

        return [
            Part((x,), (rows,), write, queues={rows: inside}),
            Part((rows,), (y,), copied(y)),
        ]
