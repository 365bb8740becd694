"""PMU (pattern memory unit): chunks stored in pages on chip, and read by reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ....ir.affine import affine, last_tile
from ....ir.wire import TILE_LEVELS, stop_bits
from ...design import stages
from ...design.formats import Format, misfit
from ...design.pace import Extents, Pace, Paces, Part, Queue
from ...design.params import UnitParams
from ...design.table import Channel, Design, Unit


@dataclass(frozen=True)
class Pmu(UnitParams):
    """Stores chunks of ``x``, and reads them again: Bufferize and Streamify.

    A chunk is written to pages that are free. With its last beat its reference goes to ``made``:
    its first page. References come back at ``read``, in any order, each once; what they refer to
    is sent to ``y`` `count` times, or once per element of ``ref`` that belongs to it. With the last
    of these its pages are free again. ``y`` is the output of the memory's pipeline.

    Parameters
    ----------
    level : int
        Wire level of `x` that closes a chunk.
    count : int or None
        Readings of each chunk, at least 1; None where `ref` determines them.
    counted : bool
        Whether the readings of a chunk are a dim of ``y``, above the chunk's.
    inner : int
        Dims of `ref` inside the group that belongs to a chunk; 0 without `ref`.
    ref_base : int
        Wire level that closes an element of `ref`: 2 for tiles, 0 for selectors and flags, or
        without `ref`.
    pages, page : int
        Pages of the memory, and words of each: a word holds a beat.
    fixed : bool
        Whether every chunk has exactly as many beats as a page has words. Otherwise a chunk takes
        one or more pages, which a table links; `page` is then a power of two, at least 2.
    largest : int
        Most beats of a chunk.
    bits : int
        Bits of an element.
    shape, stride : tuple of int
        An affine reading of fixed chunks, outermost dim first, in tiles; empty for all beats in
        order.
    tile : int
        Beats of a tile in an affine reading.
    """

    level: int
    count: int | None
    counted: bool
    inner: int
    ref_base: int
    pages: int
    page: int
    fixed: bool
    largest: int
    bits: int
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    tile: int = 1

    kind: ClassVar = "pmu"
    outputs: ClassVar = ("made", "y")

    @property
    def inputs(self) -> tuple[str, ...]:
        """The chunks, the references to read, and what determines the readings, if not a count."""
        return ("x", "read", "ref") if self.count is None else ("x", "read")

    @property
    def main(self) -> str:
        """The actor that stores."""
        return "store"

    @property
    def page_bits(self) -> int:
        """Bits of a reference: a page's number, or its address where all chunks have one page."""
        last = (self.pages - 1) * (self.page if self.fixed else 1)
        return max(1, last.bit_length())

    @property
    def offset_bits(self) -> int:
        """Bits of a word's place in its page."""
        return max(1, (self.page - 1).bit_length())

    @property
    def entry_bits(self) -> int:
        """Bits of a table entry: whether a page is the last, and the next one or the last word."""
        return 0 if self.fixed else 1 + max(self.page_bits, self.offset_bits)

    @property
    def above(self) -> int:
        """Dims of ``y`` between a chunk's and those of the references."""
        return self.inner + self.counted

    @property
    def levels(self) -> int:
        """Wire level of ``y`` that closes a reading."""
        return TILE_LEVELS + len(self.shape) if self.shape else self.level

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or not 1 <= self.level <= rank:
            return f"the level {self.level} of a chunk must be within 1..{rank or 0}"
        if self.count is not None and (self.count < 1 or self.inner or self.ref_base):
            return f"without ref a chunk is read at least once, not {self.count} times, by no dims"
        if self.count is None and self.counted:
            return "its readings are counted or follow ref, not both"
        if self.ref_base not in (0, TILE_LEVELS):
            return f"the level of an element of ref must be 0 or {TILE_LEVELS}, not {self.ref_base}"
        if wrong := self._misshapen():
            return wrong
        x = design.channel[unit.inputs["x"]]
        data = Format(x.lanes, self.bits, rank)
        names = Format(1, self.page_bits, rank - self.level)
        back = design.channel[unit.inputs["read"]].rank
        if back is None:
            return "references to read must have levels"
        left = back + self.above
        y = data._replace(rank=left + self.levels, delay=self.delay(design.lanes))
        formats = {"x": data, "made": names, "read": names._replace(rank=back), "y": y}
        if self.count is None:
            ref = design.channel[unit.inputs["ref"]]
            formats["ref"] = Format(ref.lanes, ref.bits, left + self.ref_base)
        return misfit(unit, design, **formats)

    def _misshapen(self) -> str | None:
        """What is wrong with the memory or an affine reading."""
        if self.pages < 1 or self.page < 1:
            return f"the memory must have pages of words, not {self.pages} of {self.page}"
        if self.fixed and self.largest != self.page:
            return f"a chunk of {self.largest} beats must fill a page of {self.page}"
        if not self.fixed and (self.page < 2 or self.page & (self.page - 1)):
            return f"linked pages must have a power of two of words, at least 2, not {self.page}"
        if self.pages * self.page < self.largest:
            return (
                f"a chunk of {self.largest} beats does not fit into {self.pages} pages of "
                f"{self.page}"
            )
        if not self.shape:
            return None
        if not self.fixed or len(self.shape) != len(self.stride) or self.tile < 1:
            return "an affine reading takes fixed chunks of tiles, and a stride for each extent"
        last = last_tile(self.shape, self.stride)
        if (last + 1) * self.tile > self.page:
            return (
                f"the reading ends at tile {last}, beyond the {self.page // self.tile} of a chunk"
            )
        return None

    def delay(self, lanes: int) -> int:
        """Latency of the memory."""
        return stages.BLOCK_RAM

    def data_bits(self, unit: Unit, design: Design) -> int:
        """Bits of a beat's data that are stored; if ``y`` has no data those of an inner level."""
        if not design.channel[unit.outputs["y"]].lanes:
            return stop_bits(self.level)
        return design.channel[unit.inputs["x"]].data_bits

    def width(self, unit: Unit, design: Design) -> int:
        """Bits of a word: a beat's data and stop, and whether it is an empty token."""
        return self.data_bits(unit, design) + stop_bits(self.level - 1) + (not self.fixed)

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of the pages, and of the two copies of the table that links them."""
        return self.pages * (self.page * self.width(unit, design) + 2 * self.entry_bits)

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """``free``: pages that were used before; ``starts``: references with table entries.

        ``elements``: `ref`, a beat per element.
        """
        rank = design.channel[unit.inputs["read"]].rank
        assert rank is not None
        free = Channel("free", 1, self.page_bits, None, depth=max(2, self.pages))
        starts = Channel("starts", 1, self.page_bits + self.entry_bits, rank)
        elements = Channel("elements", 0, 0, rank + self.inner)
        return [free, starts, elements] if self.ref_base else [free, starts]

    def walk(self) -> list[tuple[int, int]]:
        """For each tile of an affine reading its first word, and the dims that end with it."""
        return [(number * self.tile, stop) for number, stop in affine(self.shape, self.stride)]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Two: one stores, the other reads, which needs the complete chunk."""
        x, made, y = unit.inputs["x"], unit.outputs["made"], unit.outputs["y"]
        memory, read = f"{unit.name}.memory", unit.inputs["read"]
        chunks = self.pages // -(-self.largest // self.page)
        queue = Queue(extents[x], [(self.level, chunks)], done=False)

        def store(paces: Paces) -> Paces:
            beats = replace(paces[x], replayed="")
            names = replace(beats.moved(self.level, -self.level), opened=False, prompt=False)
            return {made: names, memory: beats}

        def begin(pace: Pace) -> Paces:
            return {made: pace, memory: pace.moved(0, self.level)}

        lifted, ref = self.levels + self.above, unit.inputs.get("ref", "")

        def follow(paces: Paces) -> Paces:
            told, chunk, names = (paces.get(n) for n in (ref, memory, read))
            known = [
                *([] if told is None else [told.moved(self.ref_base, self.levels - self.ref_base)]),
                *([] if chunk is None else [chunk.moved(self.level, lifted - self.level)]),
                *([] if names is None else [names.moved(0, lifted)]),
            ]
            return {y: replace(known[0].after(*known), opened=False, replayed="")}

        meets = {memory: self.level, read: 0}
        inputs: tuple[str, ...] = (memory, read)
        if self.count is None:
            inputs = (*inputs, ref)
            meets[ref] = self.ref_base + self.inner
        stored = Part((x,), (made, memory), store, queues={memory: queue}, clock=made, start=begin)
        return [stored, Part(inputs, (y,), follow, meets=meets)]
