"""RandomStore: writes a tile to each address, and reports when it is written."""

from __future__ import annotations

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
from stepgen.hw.units.axi.params import burst, raw_channel, words, write_request_bits
from stepgen.ir.arguments import Address
from stepgen.ir.dtypes import address
from stepgen.ir.wire import TILE_LEVELS


@dataclass(frozen=True)
class RandomStore(UnitParams):
    """Writes the tiles of ``x`` to a tensor, each to the address that ``at`` has for it.

    ``y`` has a flag, of the stop of its address, once a tile is written. ``wreq`` are requests,
    ``wdata`` bus words, and ``ack`` their acknowledgements, all raw.

    Parameters
    ----------
    region : str
        Name of the tensor.
    base : Address
        Its address in bytes, a multiple of the bus word.
    rows, row_bytes : int
        Rows of a tile, and their bytes.
    tiles : int
        Tiles that an address may name.
    ahead : int
        Addresses whose tiles are not yet written, 2 to 64.
    addresses : bool
        Whether rows of addresses are written, which have no levels of a tile.
    """

    region: str
    base: Address
    rows: int
    row_bytes: int
    tiles: int
    ahead: int
    addresses: bool = False

    kind: ClassVar = "random_store"
    main: ClassVar = "pack"
    inputs: ClassVar = ("at", "x", "ack")
    outputs: ClassVar = ("y", "wreq", "wdata")

    @staticmethod
    def raw(bus: Bus) -> dict[str, Format]:
        """The formats of the raw ports."""
        return {
            "wreq": words(write_request_bits(bus, within=True)),
            "wdata": words(bus.data_bits),
            "ack": words(1),
        }

    @staticmethod
    def channels(name: str, bus: Bus, depth: int) -> tuple[Channel, Channel, Channel]:
        """The channels ``<name>_wreq``, ``<name>_wdata`` and ``<name>_ack`` to the arbiter.

        Parameters
        ----------
        name : str
            Of the store.
        bus : Bus
        depth : int
            Bus words that wait until their burst is complete, at least 2.
        """
        form = RandomStore.raw(bus)
        return (
            raw_channel(f"{name}_wreq", form["wreq"]),
            raw_channel(f"{name}_wdata", form["wdata"], depth),
            raw_channel(f"{name}_ack", form["ack"]),
        )

    @property
    def tile_bytes(self) -> int:
        """Bytes of a tile."""
        return self.rows * self.row_bytes

    @property
    def tile_levels(self) -> int:
        """Wire levels of a tile."""
        return 0 if self.addresses else TILE_LEVELS

    def gear(self, x: Channel) -> Gear:
        """How bytes of the beats on a channel become those of words."""
        return Gear.of(self.row_bytes, x.lanes * stored_bits(x) // 8)

    def by_address(self, unit: Unit, design: Design) -> ByAddress:
        """The tiles that addresses name."""
        word = design.bus.bytes
        longest = burst(design.bus, design.channel[unit.outputs["wdata"]].depth)
        places = word // self.gear(design.channel[unit.inputs["x"]]).step(word)
        return ByAddress(
            self.base, self.tile_bytes, self.tiles, word, longest * word, self.ahead, places
        )

    def varies(self, bus: Bus) -> bool:
        """Whether what is written depends on the addresses, since tiles are not whole words."""
        return self.tile_bytes % bus.bytes > 0

    def multipliers(self, design: Design) -> int:
        """One, where the size of a tile is not a power of two."""
        return int(multiplication(self.tile_bytes, design.bus.bytes) > 0)

    def errors(self, unit: Unit, design: Design) -> dict[int, str]:
        return {OUT_OF_RANGE: outside(unit, "at", "write", self.region, self.tiles, design)}

    def access_problem(self, bus: Bus, beat_bits: int, region: Region) -> str | None:
        """Why these writes of the tensor are impossible, or None.

        Parameters
        ----------
        bus : Bus
        beat_bits : int
            Bits of a beat of ``x`` in memory.
        region : Region
            Address range of the tensor.
        """
        if problem := beat_problem(beat_bits):
            return problem
        if min(self.rows, self.row_bytes, self.tiles) < 1:
            return f"a tile of {self.region} of {self.rows} rows of {self.row_bytes} bytes is empty"
        if self.base != region.base:
            return f"{self.region} lies at {region.base}, not at {self.base}"
        if self.tiles * self.tile_bytes > region.size:
            return f"{self.region} has {region.size // self.tile_bytes} tiles, not {self.tiles}"
        if self.base % bus.bytes:
            return (
                f"{self.region} lies at {self.base}, not a multiple of the bus word of {bus.bytes}"
            )
        return None

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, at = (design.channel[unit.inputs[port]] for port in ("x", "at"))
        region = design.regions.get(self.region)
        if region is None:
            return f"no tensor {self.region} lies off chip"
        if self.addresses != (x.element == address.name):
            return f"addresses={self.addresses} does not fit x, which has elements of {x.element}"
        if x.rank is None or x.rank < self.tile_levels:
            return "x must have tiles"
        beat = x.lanes * stored_bits(x)
        if problem := self.access_problem(design.bus, beat, region):
            return problem
        if 8 * self.row_bytes % beat != x.tail * stored_bits(x):
            return f"rows of {self.row_bytes} bytes don't end in lane {x.tail} of {x.name}"
        if not 2 <= self.ahead <= MOST_AHEAD:
            return f"2 to {MOST_AHEAD} addresses may be in flight, not {self.ahead}"
        rank = x.rank - self.tile_levels
        formats = {"at": Format(1, at.bits, rank), "y": Format(1, 1, rank)}
        return misfit(unit, design, **formats, **self.raw(design.bus))

    def bursts(self, bus: Bus) -> Channel:
        """The queue of bursts without acknowledgement, with those that end a tile or the stream."""
        return Channel("bursts", 1, 2, None, bus.outstanding + 4)

    def closes(self, unit: Unit, design: Design) -> Channel:
        """The queue of the stops of addresses."""
        rank = design.channel[unit.inputs["at"]].rank
        return self.by_address(unit, design).closes(rank, placed=False)

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        starts = self.by_address(unit, design).starts
        return [self.bursts(design.bus), starts, self.closes(unit, design)]

    def parts(self, unit: Unit, extents: Mapping[str, Extents]) -> list[Part]:
        """Addresses are consumed ahead of their tiles; a flag follows a complete tile."""
        at, x, y = unit.inputs["at"], unit.inputs["x"], unit.outputs["y"]
        due, levels = f"{unit.name}.closes", self.tile_levels
        queue = Queue(extents[at], [(0, self.ahead)])

        def follow(paces: Paces) -> Paces:
            tile, stop = paces.get(x), paces.get(due)
            done = stop if tile is None else tile.moved(levels, -levels).after(stop)
            assert done is not None
            return {y: replace(done, opened=False, prompt=False, replayed="")}

        return [
            Part((at,), (due,), copied(due), queues={due: queue}),
            Part((due, x), (y,), follow, meets={x: levels}),
        ]
