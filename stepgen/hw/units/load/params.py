"""Load: reads a tensor, affinely once or for every element of a reference, or tiles by address."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from stepgen.hw.design.by_address import MOST_AHEAD, ByAddress, multiplication, outside
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.gear import Gear, beat_problem, stored_bits
from stepgen.hw.design.pace import Extents, Paces, Part, Queue, copied
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.registers import OUT_OF_RANGE
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.axi.params import burst, raw_channel, request_bits, words
from stepgen.ir.arguments import Address
from stepgen.ir.dtypes import address
from stepgen.ir.wire import TILE_LEVELS

AHEAD = 8
"""Default of the reference elements in flight."""

REQUESTS = 2
"""Bursts that the address generator queues before there is space for their data."""


@dataclass(frozen=True)
class Walk:
    """The bytes that one pass reads: a loop nest around runs of consecutive bytes.

    Attributes
    ----------
    base : Address
        Of the first run, a multiple of the bus word.
    length : int
        Bytes of a run.
    levels : tuple of int
        By loop, innermost first, the level of `Load.levels` that it counts; none has extent 1.
    extents : tuple of int
        By loop, its steps.
    strides : tuple of int
        By loop, bytes from one step to the next.
    jumps : tuple of int
        By loop, bytes from the start of a run to the start of the next when this loop steps and all
        loops inside it start over.
    """

    base: Address
    length: int
    levels: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    jumps: tuple[int, ...]

    def step(self, word: int) -> int:
        """Bytes of the largest unit in which all runs' offsets in words of `word` bytes count."""
        return math.gcd(word, *self.jumps)

    def words(self, word: int, offset: int = 0) -> int:
        """Words that hold a run which starts at a byte of a word."""
        return -(-(offset + self.length) // word)

    def most_words(self, word: int) -> int:
        """Words of a run, at most."""
        return self.words(word, word - self.step(word))

    def reach(self) -> int:
        """Bytes from the start of the first run to the end of the one that lies farthest behind."""
        loops = zip(self.extents, self.strides, strict=True)
        return sum((extent - 1) * max(0, stride) for extent, stride in loops) + self.length

    def pass_words(self, word: int) -> int:
        """Words that a pass reads; one that two runs share is read twice."""
        starts = Counter({0: 1})
        for extent, stride in zip(self.extents, self.strides, strict=True):
            steps = Counter(n * stride % word for n in range(min(extent, word)))
            if extent > word:  # the offsets repeat
                steps = Counter({o: count * (extent // word) for o, count in steps.items()})
                steps.update(n * stride % word for n in range(extent % word))
            sums: Counter[int] = Counter()
            for offset, count in starts.items():
                for step, times in steps.items():
                    sums[(offset + step) % word] += count * times
            starts = sums
        return sum(count * self.words(word, offset) for offset, count in starts.items())


@dataclass(frozen=True)
class Load(UnitParams):
    """A read of a tensor: ``out``, once or for every element of ``ref``.

    ``req`` are requests, ``data`` the bus words that they return, both raw. ``ref`` exists only for
    a load by reference, and may carry structure only; for a load by address it carries the number
    of the tile that is read.

    Parameters
    ----------
    region : str
        Name of the tensor.
    base : Address
        Its address in bytes, a multiple of the bus word.
    tile_bytes : int
        Bytes of one tile.
    rows : int
        Rows of a tile.
    beat_parts : int
        Parts of a beat; where they do not divide a row, its last beat has padding, which the
        memory has not. A part is a byte, or an element where a byte holds several.
    shape, stride : tuple of int
        Out shape ``(O_{a-1}, …, O_0)`` and its strides in tiles, outermost first. By reference it
        may be empty: one tile per element.
    offset : int
        Number of the first tile of each pass; it begins with a bus word.
    ref_level : int or None
        Wire level at which an element of ``ref`` closes: 2 for tiles, 0 for selectors and flags.
        None for the static load, which reads once per run; its outermost dim is closed by ``DONE``.
    ahead : int
        Elements of ``ref`` in flight, 2 to 64.
    tiles : int
        Tiles that an address may name; 0 for an affine read, by whatever reference.
    addresses : bool
        Whether what is read are rows of addresses. They have no levels of a tile; of their 64 bits
        in memory those stay that the wire has, and a number that needs more becomes all ones.
    packed : int
        Elements of a byte in memory; where there are several, each is widened to a lane with its
        sign.
    whole : bool
        Whether a pass waits for the last beat of its element, not only for the first one: where
        what is read may be written before, the end of the element may show that it was.
    prompt : bool
        Whether the last beat of a pass is sent without waiting for the end of its element, for
        consumers that ignore stops: it then closes only the pass.
    """

    region: str
    base: Address
    tile_bytes: int
    rows: int
    beat_parts: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int = 0
    ref_level: int | None = None
    ahead: int = AHEAD
    prompt: bool = False
    tiles: int = 0
    addresses: bool = False
    packed: int = 1
    whole: bool = False

    kind: ClassVar = "load"
    main: ClassVar = "emit"
    outputs: ClassVar = ("out", "req")

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("data",) if self.ref_level is None else ("ref", "data")

    @staticmethod
    def raw(bus: Bus) -> dict[str, Format]:
        """The formats of the raw ports."""
        return {"req": words(request_bits(bus)), "data": words(bus.data_bits)}

    @staticmethod
    def channels(name: str, bus: Bus, depth: int) -> tuple[Channel, Channel]:
        """The channels ``<name>_req`` and ``<name>_data`` between a load and the arbiter.

        Parameters
        ----------
        name : str
            Of the load.
        bus : Bus
        depth : int
            Bus words that may be requested and not yet consumed, at least 2. The full rate needs
            the memory's latency and a burst.
        """
        form = Load.raw(bus)
        return (
            raw_channel(f"{name}_req", form["req"]),
            raw_channel(f"{name}_data", form["data"], depth),
        )

    @property
    def decides(self) -> str:
        """Addresses that are read."""
        return "out" if self.addresses else ""

    @property
    def tile_levels(self) -> int:
        """Wire levels of a tile."""
        return 0 if self.addresses else TILE_LEVELS

    @property
    def part_bits(self) -> int:
        """Bits of a part."""
        return 8 // self.packed

    @property
    def row_parts(self) -> int:
        """Parts of a row."""
        return self.tile_bytes * self.packed // self.rows

    @property
    def slices(self) -> int:
        """Beats of a row."""
        return -(-self.row_parts // self.beat_parts)

    @property
    def gear(self) -> Gear:
        """How parts of words become those of beats."""
        return Gear.of(self.row_parts, self.beat_parts)

    def word_parts(self, bus: Bus) -> int:
        """Parts of a bus word."""
        return bus.bytes * self.packed

    def realigns(self, bus: Bus) -> bool:
        """Whether beats lie across words, or tiles begin within one."""
        return self.tile_bytes % bus.bytes > 0 or not self.gear.divides(self.word_parts(bus))

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        if not self.tiles:
            return super().errors(unit, design)
        return {OUT_OF_RANGE: outside(unit, "ref", "read", self.region, self.tiles, design)}

    def access_problem(self, bus: Bus, region: Region) -> str | None:
        """Why this read of the tensor in `region` is impossible, or None."""
        tile, load = self.tile_bytes, f"a load of {self.region}"
        if self.ref_level is None and not self.shape:
            return f"{load} without a reference needs an out shape"
        if len(self.stride) != len(self.shape):
            return f"{load} has {len(self.stride)} strides for an out shape of {len(self.shape)}"
        if any(extent < 1 for extent in self.shape):
            return f"the out shape {list(self.shape)} of {load} has an empty dim"
        if min(self.rows, tile) < 1:
            return f"a tile of {self.region} of {tile} bytes in {self.rows} rows is empty"
        if self.packed not in (1, 2):
            return f"a byte of {self.region} holds 1 or 2 elements, not {self.packed}"
        if tile * self.packed % self.rows:
            return f"a tile of {self.region} of {tile} bytes can't be {self.rows} rows"
        if problem := beat_problem(self.part_bits * self.beat_parts, self.part_bits):
            return problem
        if self.addresses and (self.rows, self.slices) != (1, 1):
            return f"a row of addresses of {self.region} is one beat, not {self.rows * self.slices}"
        if self.base != region.base:
            return f"{self.region} lies at {region.base}, not at {self.base}"
        if self.base % bus.bytes:
            return (
                f"{self.region} lies at {self.base}, not a multiple of the bus word of {bus.bytes}"
            )
        if self.tiles:
            if (self.ref_level, self.shape) != (0, ()):
                return f"{load} by address reads one tile for each"
            if self.tiles * tile > region.size:
                return f"{self.region} has {region.size // tile} tiles, not {self.tiles}"
        spans = [(e - 1) * s for e, s in zip(self.shape, self.stride, strict=True)]
        first, last = (self.offset + sum(f(0, s) for s in spans) for f in (min, max))
        if first < 0 or (last + 1) * tile > region.size:
            return (
                f"a load reads tiles {first} to {last} of {self.region}, which has "
                f"tiles 0 to {region.size // tile - 1}"
            )
        if self.start % bus.bytes:
            return (
                f"{load} starts at its tile {self.offset}, byte {self.offset * tile}, not at a "
                f"multiple of the bus word of {bus.bytes} bytes"
            )
        return None

    def problem(self, unit: Unit, design: Design) -> str | None:
        out = design.channel[unit.outputs["out"]]
        region = design.regions.get(self.region)
        if region is None:
            return f"no tensor {self.region} lies off chip"
        if problem := self.access_problem(design.bus, region):
            return problem
        beat, tail = (
            n * self.part_bits for n in (self.beat_parts, self.row_parts % self.beat_parts)
        )
        lane = self.stored_bits(out)
        if out.lanes * lane not in (0, beat):
            return f"out must have beats of {beat} bits, not {out.lanes * lane}"
        if out.lanes and out.tail * lane != tail:
            return f"rows of out must end at bit {tail} of a beat, not {out.tail * lane}"
        rank = self.pass_level
        if self.ref_level is not None:
            ref = design.channel[unit.inputs["ref"]]
            if ref.rank is None or not 0 <= self.ref_level <= ref.rank:
                return f"elements of ref end at level {self.ref_level}, not in 0..{ref.rank or 0}"
            if not 2 <= self.ahead <= MOST_AHEAD:
                return f"2 to {MOST_AHEAD} elements of ref may be in flight, not {self.ahead}"
            if self.tiles and ref.lanes != 1:
                return f"addresses have one lane, not {ref.lanes}"
            rank += ref.rank - self.ref_level
        formats = {"out": Format(out.lanes, out.bits, rank), **self.raw(design.bus)}
        return misfit(unit, design, **formats)

    def stored_bits(self, out: Channel) -> int:
        """Bits of a lane in off-chip memory."""
        return address.bits if self.addresses else stored_bits(out) // self.packed

    @property
    def start(self) -> Address:
        """Address of the first tile of a pass."""
        return self.base + self.offset * self.tile_bytes

    @property
    def walk(self) -> Walk:
        """The loop nest of a pass; dims that are contiguous in memory are joined into one run.

        By address that of all tiles, each of which is a run.
        """
        length = tile = self.tile_bytes
        if self.tiles:
            return Walk(self.base, tile, (), (self.tiles,), (tile,), (tile,))
        levels: list[int] = []
        extents: list[int] = []
        strides: list[int] = []
        dims = zip(reversed(self.shape), reversed(self.stride), strict=True)
        for level, (extent, stride) in enumerate(dims, self.tile_levels):
            if extent == 1:
                continue
            if not extents and stride * tile == length:
                length *= extent
                continue
            levels.append(level)
            extents.append(extent)
            strides.append(stride * tile)
        back, jumps = 0, []
        for extent, step in zip(extents, strides, strict=True):
            jumps.append(step - back)
            back += (extent - 1) * step
        return Walk(self.start, length, tuple(levels), tuple(extents), tuple(strides), tuple(jumps))

    def pass_bytes(self, bus: Bus) -> tuple[int, int]:
        """Bytes of the tiles of a pass, and of the words that are read for them.

        By address those of a tile whose start in a word takes most words.
        """
        if self.tiles:
            return self.tile_bytes, self.walk.most_words(bus.bytes) * bus.bytes
        return math.prod(self.shape) * self.tile_bytes, self.walk.pass_words(bus.bytes) * bus.bytes

    def varies(self, bus: Bus) -> bool:
        """Whether what is read depends on the addresses, since tiles are not whole words."""
        return self.tiles > 0 and self.walk.words(bus.bytes) < self.walk.most_words(bus.bytes)

    def longest_burst(self, bus: Bus, depth: int) -> int:
        """Words of the longest burst with a FIFO of words of `depth`."""
        return min(burst(bus, depth), self.walk.most_words(bus.bytes))

    @property
    def levels(self) -> tuple[int, ...]:
        """Extents of the levels that a pass counts, innermost first."""
        return (*(self.slices, self.rows)[: self.tile_levels], *reversed(self.shape))

    @property
    def pass_level(self) -> int:
        """Wire level that the last beat of a pass closes, without the reference's stop."""
        return self.tile_levels + len(self.shape) - (self.ref_level is None)

    def bursts(self, bus: Bus) -> Channel:
        """The queue of the address generator's bursts."""
        return Channel("bursts", 1, request_bits(bus), None, REQUESTS)

    def by_address(self, unit: Unit, design: Design) -> ByAddress:
        """The tiles that addresses name."""
        bus = design.bus
        longest = burst(bus, design.channel[unit.inputs["data"]].depth)
        word = self.word_parts(bus)
        places = word // self.gear.step(word) if self.realigns(bus) else 1
        return ByAddress(
            self.base,
            self.tile_bytes,
            self.tiles,
            bus.bytes,
            longest * bus.bytes,
            self.ahead,
            places,
        )

    def multipliers(self, design: Design) -> int:
        """One, for the starts of tiles by address whose size is not a power of two."""
        return int(self.tiles > 0 and multiplication(self.tile_bytes, design.bus.bytes) > 0)

    def closes(self, unit: Unit, design: Design) -> Channel:
        """The queue of the stops of the reference's elements, by address with their places."""
        rank = design.channel[unit.inputs["ref"]].rank
        if self.tiles:
            return self.by_address(unit, design).closes(rank, placed=True)
        return Channel("closes", 0, 0, rank, self.ahead)

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        closes = [] if self.ref_level is None else [self.closes(unit, design)]
        starts = [self.by_address(unit, design).starts] if self.tiles else []
        return [self.bursts(design.bus), *starts, *closes]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """By reference two: elements are consumed, and their data requested, ahead of the output.

        The memory makes no load wait for another: a load requests only words that it has reserved
        space for, and every requested word arrives.
        """
        out, base = unit.outputs["out"], self.ref_level
        if base is None:
            return [Part((), (out,), copied(out))]
        ref, due = unit.inputs["ref"], f"{unit.name}.closes"
        dims = extents[ref]
        queue = Queue(dims, [(base, self.ahead)])

        def follow(paces: Paces) -> Paces:
            x = paces[due].moved(base, self.pass_level - base)
            one = self.prompt and paces[due].count(dims, base) == 1
            # A pass of one beat begins with its last one, which shows how its element ends.
            opened = x.opened and (x.prompt or self.prompt or math.prod(self.levels) > 1)
            return {out: replace(x, opened=opened, prompt=x.prompt or (one and opened))}

        return [
            Part((ref,), (due,), copied(due), queues={due: queue}),
            Part((due,), (out,), follow),
        ]
