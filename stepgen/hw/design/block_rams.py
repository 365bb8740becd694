"""Block RAM: which memories are made of it, and how many blocks of a family they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepgen.hw.design import stages
from stepgen.hw.design.channel import SHALLOW as SHALLOW
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.table import BLOCKRAM

if TYPE_CHECKING:
    from stepgen.hw.design.table import Channel, Design, Unit

SHAPES = ((36, 9), (18, 10), (9, 11), (4, 12), (2, 13), (1, 14))
"""Data and address bits that a block of 18 Kbit can have, the widest first."""

FEW = 3
"""Rows that are registers where a family has no LUT RAM, and block RAM beyond."""


@dataclass(frozen=True)
class Blocks:
    """The block RAM of a family.

    Parameters
    ----------
    shapes : tuple of (int, int)
        As `SHAPES`: blocks stand side by side, each of the widest shape that has enough rows; for
        more rows, also one behind the other.
    lut_ram : bool
        Whether there is LUT RAM for small memories.
    halves : int
        How many memories may share a block, each of which has blocks of these shapes alone.
    constants : bool
        Whether tables of constants lie in blocks; else they are logic.
    instantiated : bool
        Whether circuits have the blocks themselves, so that no tool decides how many there are.
    """

    shapes: tuple[tuple[int, int], ...] = field(default=SHAPES)
    lut_ram: bool = True
    halves: int = 1
    constants: bool = False
    instantiated: bool = False

    def total(self, rams: Iterable[Ram]) -> int:
        """Blocks that memories take together."""
        return -(-sum(map(self._parts, rams)) // self.halves)

    def _parts(self, ram: Ram) -> int:
        if ram.constant and not (self.constants and stages.rom(ram.bits * ram.rows) > 1):
            return 0
        if ram.rows <= (SHALLOW if self.lut_ram else 0):
            return 0
        # Those that are deeper than a block are left to tools, which choose a shape themselves.
        shapes = [s for s in self.shapes if ram.rows <= 1 << s[1]][:1] or self.shapes
        return min(-(-ram.bits // bits) * -(-ram.rows >> address) for bits, address in shapes)

    def fifo(self, channel: Channel) -> Iterator[Ram]:
        """The memory of a FIFO, where it is block RAM."""
        if channel.memory == BLOCKRAM:
            yield Ram(channel.stored.width, channel.depth)
        elif not self.lut_ram and channel.depth - 1 > FEW:
            yield Ram(channel.stored.width, channel.depth - 1)

    def unit(self, unit: Unit, design: Design) -> Iterator[Ram]:
        """The memories inside of a unit, its queues included."""
        seen = design.seen_by(unit)
        yield from unit.params.rams(unit, seen)
        if unit.epilogue is not None:
            yield from unit.epilogue.params.rams(unit, seen)
        for channel in unit.params.queues(unit, seen):
            yield from self.fifo(channel)

    def design(self, design: Design) -> Iterator[Ram]:
        """The memories of all units and FIFOs of a design."""
        for unit in design.units:
            yield from self.unit(unit, design)
        for channel in design.channels:
            yield from self.fifo(channel)
