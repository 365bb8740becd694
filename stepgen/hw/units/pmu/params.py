"""PMU (pattern memory unit): chunks stored in pages on chip, and read by reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Pace, Paces, Part, Queue
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.ram import Ram
from stepgen.hw.design.registers import NUMBER_BITS, STRUCTURE, TOO_LARGE, UNTOLD
from stepgen.hw.design.table import Channel, Design, Unit, index_bits
from stepgen.ir.affine import affine, last_tile
from stepgen.ir.arguments import take_fields
from stepgen.ir.wire import TILE_LEVELS, stop_bits

BEYOND = 8
"""Bits by which a number of rows may be longer than the most that there is room for."""


@dataclass(frozen=True)
class Reading:
    """How chunks are read at one output of a PMU: Streamify.

    Parameters
    ----------
    count : int or None
        Readings of each chunk, at least 1; None where `ref` determines them.
    counted : bool
        Whether the readings of a chunk are a dim of ``y``, above the chunk's.
    inner : int
        Dims of `ref` inside the group that belongs to a chunk; 0 without `ref`.
    ref_base : int
        Wire level that closes an element of `ref`: 2 for tiles, 0 for selectors and flags, or
        without `ref`.
    shape, stride : tuple of int
        An affine reading of fixed chunks, outermost dim first, in tiles; empty for all beats in
        order.
    offset : int
        First tile of an affine reading.
    tile : int
        Beats of a tile in an affine reading.
    """

    count: int | None
    counted: bool = False
    inner: int = 0
    ref_base: int = 0
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    offset: int = 0
    tile: int = 1

    def __post_init__(self) -> None:
        take_fields(self)

    @property
    def above(self) -> int:
        """Dims of ``y`` between a chunk's and those of the references."""
        return self.inner + self.counted

    @property
    def affine_levels(self) -> int:
        """Wire level of ``y`` that closes an affine reading; 0 for others."""
        return TILE_LEVELS + len(self.shape) if self.shape else 0

    def walk(self) -> list[tuple[int, int]]:
        """For each tile of an affine reading its first word, and the dims that end with it."""
        tiles = affine(self.shape, self.stride, self.offset)
        return [(number * self.tile, stop) for number, stop in tiles]

    def problem(self, largest: int, *, fixed: bool) -> str | None:
        """Why chunks of at most `largest` beats can't be read like this, or None."""
        if self.count is not None and (self.count < 1 or self.inner or self.ref_base):
            return f"without ref a chunk is read at least once, not {self.count} times, by no dims"
        if self.count is None and self.counted:
            return "its readings are counted or follow ref, not both"
        if self.ref_base not in (0, TILE_LEVELS):
            return f"the level of an element of ref must be 0 or {TILE_LEVELS}, not {self.ref_base}"
        if not self.shape:
            return None
        if not fixed or len(self.shape) != len(self.stride) or self.tile < 1:
            return "an affine reading takes fixed chunks of tiles, and a stride for each extent"
        last = last_tile(self.shape, self.stride, self.offset)
        if (last + 1) * self.tile > largest:
            return f"the reading ends at tile {last}, beyond the {largest // self.tile} of a chunk"
        return None


@dataclass(frozen=True)
class Pmu(UnitParams):
    """Stores chunks of ``x``, and reads them again: Bufferize and all its Streamify.

    A chunk is written to pages that are free. With its last beat its reference goes to ``made``:
    its first page. References come back at ``read_0``, ``read_1``, … in any order; what they refer
    to is sent to ``y_0``, … as `readings` says: a number of times, or once per element of
    ``ref_0``, … that belongs to it. The outputs take turns at the memory, whose pipeline they are.

    Parameters
    ----------
    level : int
        Wire level of `x` that closes a chunk.
    readings : tuple of Reading
        One per output.
    pages, page : int
        Pages of the memory, and words of each: a word holds a beat.
    fixed : bool
        Whether all chunks have `largest` beats, and a page each. Otherwise a chunk takes one or
        more pages, which a table links; `page` is then a power of two, at least 2.
    largest : int
        Most beats of a chunk.
    bits : int
        Bits of an element.
    shares : int
        References to a chunk that come back, after which its pages are free again: those that are
        read, and those that ``rest_0``, … give back unread. 0 if no page is used twice in a run.
    rests : int
        Number of these ports.
    most : int
        Most rows of a chunk; one with more is an error. 0 if the types say that there are no more.
    row : int
        Wire level of `x` that closes a row.
    """

    level: int
    readings: tuple[Reading, ...]
    pages: int
    page: int
    fixed: bool
    largest: int
    bits: int
    shares: int = 1
    rests: int = 0
    most: int = 0
    row: int = 0

    kind: ClassVar = "pmu"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The chunks, the references to read, what determines their readings, and the unread."""
        refs = [f"ref_{n}" for n, one in enumerate(self.readings) if one.count is None]
        rests = numbered("rest", self.rests)
        return ("x", *numbered("read", len(self.readings)), *refs, *rests)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The references, and what is read."""
        return ("made", *numbered("y", len(self.readings)))

    @property
    def main(self) -> str:
        """The actor that stores."""
        return "store"

    @property
    def counts(self) -> bool:
        """Whether references that came back are counted; else a page is free once it is read."""
        return self.shares > 1 or self.rests > 0

    @property
    def by_number(self) -> bool:
        """Whether a reference is the number of a page; else its address."""
        return self.page & (self.page - 1) == 0

    @property
    def page_bits(self) -> int:
        """Bits of a reference."""
        return index_bits(self.pages if self.by_number else (self.pages - 1) * self.page + 1)

    @property
    def offset_bits(self) -> int:
        """Bits of a word's place in its page."""
        return index_bits(self.page)

    @property
    def entry_bits(self) -> int:
        """Bits of a table entry: whether a page is the last, and the next one or the last word."""
        return 0 if self.fixed else 1 + max(self.page_bits, self.offset_bits)

    @property
    def tables(self) -> int:
        """Copies of the table that links pages: one per place that looks something up."""
        return 0 if self.fixed else len(self.readings) + 1 + self.counts

    @property
    def counted_bits(self) -> int:
        """Bits of a number of rows, also of a chunk that has more than there is room for."""
        return min(NUMBER_BITS, self.most.bit_length() + BEYOND)

    @property
    def share_bits(self) -> int:
        """Bits of a number of references."""
        return index_bits(self.shares + 1)

    def levels(self, reading: Reading) -> int:
        """Wire level of a ``y`` that closes a reading."""
        return reading.affine_levels or self.level

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        known = super().errors(unit, design)
        if not self.most:
            return known
        x = unit.inputs["x"]
        large = f"{unit.name} stores a buffer of {x} of {{}} rows, and has memory for {self.most}"
        return {TOO_LARGE: large, STRUCTURE: known[UNTOLD]}

    def problem(self, unit: Unit, design: Design) -> str | None:
        rank = design.channel[unit.inputs["x"]].rank
        if rank is None or not 1 <= self.level <= rank:
            return f"the level {self.level} of a chunk must be within 1..{rank or 0}"
        if not self.readings:
            return "at least one output must read"
        wrong = [one.problem(self.largest, fixed=self.fixed) for one in self.readings]
        if said := next(filter(None, [self._misshapen(), *wrong]), None):
            return said
        x = design.channel[unit.inputs["x"]]
        data = Format(x.lanes, self.bits, rank)
        names = Format(1, self.page_bits, rank - self.level)
        formats = {"x": data, "made": names}
        for n, one in enumerate(self.readings):
            back = design.channel[unit.inputs[f"read_{n}"]].rank
            if back is None:
                return "references to read must have levels"
            left = back + one.above
            formats[f"read_{n}"] = names._replace(rank=back)
            formats[f"y_{n}"] = data._replace(
                rank=left + self.levels(one), delay=self.delay(design.lanes)
            )
            if one.count is None:
                ref = design.channel[unit.inputs[f"ref_{n}"]]
                formats[f"ref_{n}"] = Format(ref.lanes, ref.bits, left + one.ref_base)
        for port in numbered("rest", self.rests):
            bits = design.channel[unit.inputs[port]].bits - self.page_bits
            number = min(max(bits, 1), self.share_bits)
            formats[port] = Format(1, self.page_bits + number, None)
        return misfit(unit, design, **formats)

    def _misshapen(self) -> str | None:
        """What is wrong with the memory."""
        if self.pages < 1 or self.page < 1:
            return f"the memory must have pages of words, not {self.pages} of {self.page}"
        if self.fixed and self.largest > self.page:
            return f"a chunk of {self.largest} beats must fit into a page of {self.page}"
        if not self.fixed and (self.page < 2 or not self.by_number):
            return f"linked pages must have a power of two of words, at least 2, not {self.page}"
        if self.pages * self.page < self.largest:
            return (
                f"a chunk of {self.largest} beats does not fit into {self.pages} pages of "
                f"{self.page}"
            )
        if self.most < 0 or (self.most and self.fixed):
            return f"chunks of {self.largest} beats can't be of at most {self.most} rows"
        if self.shares < 0 or self.rests < 0 or (self.rests and not self.shares):
            return f"{self.rests} ports can't give back references of {self.shares}"
        if self.counts and not self.by_number:
            return f"pages that are counted must have a power of two of words, not {self.page}"
        return None

    def delay(self, lanes: int) -> int:
        """Latency of the memory."""
        return stages.BLOCK_RAM

    def data_bits(self, unit: Unit, design: Design) -> int:
        """Bits of a beat's data that are stored; if no ``y`` has data those of an inner level."""
        ys = [unit.outputs[port] for port in self.outputs[1:]]
        if not any(design.channel[y].lanes for y in ys):
            return stop_bits(self.level)
        return design.channel[unit.inputs["x"]].data_bits

    def width(self, unit: Unit, design: Design) -> int:
        """Bits of a word: a beat's data and stop, and whether it is an empty token."""
        return self.data_bits(unit, design) + stop_bits(self.level - 1) + (not self.fixed)

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of the pages, of the copies of the table that links them, and of the counts."""
        tables = self.tables * self.entry_bits + (self.share_bits if self.shares > 1 else 0)
        return super().memory_bits(unit, design) + self.pages * tables

    def rams(self, unit: Unit, design: Design) -> list[Ram]:
        """The pages."""
        return [Ram(self.width(unit, design), self.pages * self.page)]

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        """``free``: pages that were used before; ``starts``: references with table entries.

        ``elements``: a `ref`, a beat per element. ``returned``: references that were read;
        ``heads``: first pages of chunks that nothing refers to any more.
        """
        found = []
        for n, one in enumerate(self.readings):
            rank = design.channel[unit.inputs[f"read_{n}"]].rank
            assert rank is not None
            found.append(Channel(f"starts_{n}", 1, self.page_bits + self.entry_bits, rank))
            if one.ref_base:
                found.append(Channel(f"elements_{n}", 0, 0, rank + one.inner))
        deep = max(2, self.pages)
        if self.shares:
            found.append(Channel("free", 1, self.page_bits, None, depth=deep))
        if self.counts:
            found.append(Channel("returned", 1, self.page_bits, None))
            if not self.fixed:
                found.append(Channel("heads", 1, self.page_bits, None, depth=deep))
        return found

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """One stores; the others read, each of which needs the complete chunk."""
        x, made = unit.inputs["x"], unit.outputs["made"]
        # Of chunks that wait for several readers one of these has its share at least.
        chunks: float = -(-(self.pages // -(-self.largest // self.page)) // len(self.readings))
        if not self.shares:
            chunks = float("inf")
        queue = Queue(extents[x], [(self.level, chunks)], done=False)
        names = numbered(f"{unit.name}.memory", len(self.readings))
        memories = dict.fromkeys(names, queue)

        def store(paces: Paces) -> Paces:
            beats = replace(paces[x], replayed="")
            names = replace(beats.moved(self.level, -self.level), opened=False, prompt=False)
            return {made: names, **dict.fromkeys(memories, beats)}

        def begin(pace: Pace) -> Paces:
            return {made: pace, **dict.fromkeys(memories, pace.moved(0, self.level))}

        outputs = (made, *memories)
        stored = Part((x,), outputs, store, queues=memories, clock=made, start=begin)
        return [stored, *(self._reader(unit, n, m) for n, m in enumerate(memories))]

    def _reader(self, unit: Unit, n: int, memory: str) -> Part:
        """The part of an output."""
        one, y, read = self.readings[n], unit.outputs[f"y_{n}"], unit.inputs[f"read_{n}"]
        levels, ref = self.levels(one), unit.inputs.get(f"ref_{n}", "")
        lifted = levels + one.above

        def follow(paces: Paces) -> Paces:
            element, chunk, names = (paces.get(name) for name in (ref, memory, read))
            known = [
                *([] if element is None else [element.moved(one.ref_base, levels - one.ref_base)]),
                *([] if names is None else [names.moved(0, lifted)]),
                *([] if chunk is None else [chunk.moved(self.level, lifted - self.level)]),
            ]
            return {y: replace(known[0].after(*known), opened=False, replayed="")}

        meets = {memory: self.level, read: 0}
        inputs: tuple[str, ...] = (memory, read)
        if ref:
            inputs = (*inputs, ref)
            meets[ref] = one.ref_base + one.inner
        return Part(inputs, (y,), follow, meets=meets, given=(memory,))
