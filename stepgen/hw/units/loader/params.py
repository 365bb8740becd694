"""Loader: reads tiles of one shape for several consumers, each when it has room for a whole one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from stepgen.hw.design.by_address import MOST_AHEAD
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.pace import Extents, Part
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.units.axi.params import burst, words
from stepgen.hw.units.load.params import AHEAD, Load
from stepgen.ir.arguments import Address
from stepgen.ir.wire import KIND_BITS

__all__ = ["Loader", "Starts", "unshared"]

AT_ONCE = 2
"""Least tiles that are under way: one whose words arrive, and one whose words are requested."""


@dataclass(frozen=True)
class Starts:
    """Where the tiles of all readers lie, in bus words from a boundary of bursts on.

    Attributes
    ----------
    boundary : int
        The bus word at the boundary before the lowest one.
    burst : int
        Words from a boundary to the next.
    origins : tuple of int
        By reader where each pass starts.
    bits : int
        Bits of any of the words.
    aligned : bool
        Whether all tiles are whole bursts between boundaries.
    """

    boundary: int
    burst: int
    origins: tuple[int, ...]
    bits: int
    aligned: bool


@dataclass(frozen=True)
class Loader(UnitParams):
    """Reads by reference that share one address generator and one port to the memory.

    Reader n sends to ``out_n`` the tiles of a pass for every element of ``ref_n``, as a prompt
    `Load` does. Its consumer gives a beat at ``free_n`` for each tile that it has used up, so a
    tile is fetched only when there is room for all of it, and no reader waits for another.

    Parameters
    ----------
    regions : tuple of str
        By reader the name of its tensor.
    bases : tuple of Address
        Their addresses.
    offsets : tuple of int
        By reader the number of the first tile of each pass.
    tile_bytes, rows, beat_parts, shape, stride, ref_level, ahead, packed, whole
        Of all readers, as of a `Load`. Tiles are complete words, and words are complete beats.
    buffers : int
        Tiles that each consumer has memory for.
    """

    regions: tuple[str, ...]
    bases: tuple[Address, ...]
    offsets: tuple[int, ...]
    tile_bytes: int
    rows: int
    beat_parts: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    ref_level: int
    buffers: int
    ahead: int = AHEAD
    packed: int = 1
    whole: bool = False

    kind: ClassVar = "loader"
    main: ClassVar = "emit"
    prompt: ClassVar = True

    @property
    def readers(self) -> int:
        """How many there are."""
        return len(self.regions)

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*numbered("ref", self.readers), "data", *numbered("free", self.readers))

    @property
    def outputs(self) -> tuple[str, ...]:
        return (*numbered("out", self.readers), "req")

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """The readers as units of their own."""
        return tuple(
            Load(
                region=region,
                base=base,
                tile_bytes=self.tile_bytes,
                rows=self.rows,
                beat_parts=self.beat_parts,
                shape=self.shape,
                stride=self.stride,
                offset=offset,
                ref_level=self.ref_level,
                ahead=self.ahead,
                prompt=True,
                packed=self.packed,
                whole=self.whole,
            )
            for region, base, offset in zip(self.regions, self.bases, self.offsets, strict=True)
        )

    def raw(self, bus: Bus) -> dict[str, Format]:
        """The formats of the raw ports."""
        free = dict.fromkeys(numbered("free", self.readers), words(1))
        return {**Load.raw(bus), **free}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if not len(self.regions) == len(self.bases) == len(self.offsets) > 0:
            return "each reader has a tensor, its address and a first tile"
        if not 2 <= self.ahead <= MOST_AHEAD:
            return f"2 to {MOST_AHEAD} elements of a reference may be in flight, not {self.ahead}"
        if self.buffers < 1:
            return f"consumers must have memory for 1 tile at least, not {self.buffers}"
        formats = self.raw(design.bus)
        ranks = {design.channel[unit.inputs[f"ref_{n}"]].rank for n in range(self.readers)}
        if len(ranks) > 1 or not 0 <= self.ref_level <= (rank := ranks.pop() or 0):
            return f"all references have one rank, which is level {self.ref_level} at least"
        for n, load in enumerate(self.loads):
            region = design.regions.get(load.region)
            if region is None:
                return f"no tensor {load.region} lies off chip"
            if problem := load.access_problem(design.bus, region) or unshared(load, design.bus):
                return problem
            out = design.channel[unit.outputs[f"out_{n}"]]
            if out.lanes * load.stored_bits(out) != self.beat_parts * load.part_bits:
                return f"out_{n} must have beats of {self.beat_parts * load.part_bits} bits"
            raised = load.pass_level - self.ref_level
            formats[f"out_{n}"] = Format(out.lanes, out.bits, rank + raised)
        return misfit(unit, design, **formats)

    @property
    def tile_beats(self) -> int:
        """Beats of a tile."""
        return self.rows * self.loads[0].slices

    def word_beats(self, bus: Bus) -> int:
        """Beats of a bus word."""
        load = self.loads[0]
        return load.word_parts(bus) // load.gear.full

    def tile_words(self, bus: Bus) -> int:
        """Bus words of a tile."""
        return self.tile_bytes // bus.bytes

    def room(self, unit: Unit, design: Design, reader: int) -> int:
        """Tiles that there is room for behind a reader: in the consumer's memory and its FIFO."""
        depth = design.channel[unit.outputs[f"out_{reader}"]].depth
        return self.buffers + depth // self.tile_beats

    def longest_burst(self, bus: Bus, depth: int) -> int:
        """Words of the longest burst with a FIFO of words of `depth`."""
        return min(burst(bus, depth), self.tile_words(bus))

    def jumps(self, bus: Bus) -> tuple[int, ...]:
        """By dim of a pass, innermost first, words from a tile to the next when that steps."""
        jumps, back = [], 0
        for extent, stride in zip(reversed(self.shape), reversed(self.stride), strict=True):
            step = stride * self.tile_words(bus)
            jumps.append(step - back)
            back += (extent - 1) * step
        return tuple(jumps)

    def starts(self, unit: Unit, design: Design) -> Starts:
        """Where tiles start."""
        bus, tile = design.bus, self.tile_words(design.bus)
        longest = burst(bus, design.channel[unit.inputs["data"]].depth)
        spans = [(e - 1) * s * tile for e, s in zip(self.shape, self.stride, strict=True)]
        firsts = [load.start // bus.bytes for load in self.loads]
        lowest = min(firsts) + sum(min(0, span) for span in spans)
        highest = max(firsts) + sum(max(0, span) for span in spans) + tile - 1
        boundary = lowest // longest * longest
        origins = tuple(first - boundary for first in firsts)
        apart = (tile, *origins, *self.jumps(bus))
        bits = max(1, (highest - boundary).bit_length())
        return Starts(boundary, longest, origins, bits, all(n % longest == 0 for n in apart))

    def bursts(self, bus: Bus) -> Channel:
        """The queue of the address generator's bursts."""
        return self.loads[0].bursts(bus)

    def due(self, unit: Unit, design: Design, reader: int) -> Channel:
        """The queue of the passes of a reader, and of what passes between them."""
        rank = design.channel[unit.inputs[f"ref_{reader}"]].rank
        return Channel(f"due_{reader}", 0, 0, rank, self.ahead)

    def turns(self, unit: Unit, design: Design) -> Channel:
        """The queue of the tiles whose words arrive next: reader, one-hot, kind and levels."""
        outs = [design.channel[unit.outputs[port]] for port in numbered("out", self.readers)]
        levels = max(out.stop_bits for out in outs)
        depth = design.channel[unit.inputs["data"]].depth
        ahead = 1 + -(-depth // self.tile_words(design.bus))
        bits = self.readers + KIND_BITS + 2 * levels
        return Channel("turns", 1, bits, None, min(max(AT_ONCE, ahead), MOST_AHEAD))

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        dues = [self.due(unit, design, n) for n in range(self.readers)]
        return [self.bursts(design.bus), self.turns(unit, design), *dues]

    def memory_bits(self, unit: Unit, design: Design) -> int:
        """Bits of where each reader is in its pass."""
        if math.prod(self.shape) == 1:
            return 0
        counts = sum((extent - 1).bit_length() for extent in self.shape)
        ends = len(self.shape).bit_length()
        return self.readers * (self.starts(unit, design).bits + counts + ends)

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Those of each reader: a tile of one is fetched when there is room, and waits for none."""
        found = []
        for n, load in enumerate(self.loads):
            ports = {"ref": f"ref_{n}", "out": f"out_{n}"}
            inputs = {"ref": unit.inputs[ports["ref"]], "data": ""}
            own = Unit(
                f"{unit.name}.{n}", load, inputs, {"out": unit.outputs[ports["out"]], "req": ""}
            )
            found += load.parts(own, extents)
        return found


def unshared(load: Load, bus: Bus) -> str | None:
    """Why a load can't be one of several that share a loader, or None."""
    who = f"a load of {load.region}"
    if load.ref_level is None or load.tiles or not load.prompt:
        return f"{who} shares a loader only by reference, where nothing uses its last stop"
    if load.tile_bytes % bus.bytes:
        return f"{who} shares a loader only if a tile of {load.tile_bytes} bytes is whole words"
    gear, word = load.gear, load.word_parts(bus)
    if load.row_parts % load.beat_parts or word % gear.full:
        return f"{who} shares a loader only if words and rows are whole beats"
    return None
