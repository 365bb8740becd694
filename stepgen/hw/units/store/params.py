"""Store: writes a stream of tiles to a tensor, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.gear import Gear, beat_problem, stored_bits
from stepgen.hw.design.params import UnitParams
from stepgen.hw.design.table import Bus, Channel, Design, Region, Unit
from stepgen.hw.units.axi.params import raw_channel, words, write_request_bits
from stepgen.ir.arguments import Address


@dataclass(frozen=True)
class Store(UnitParams):
    """Writes the tiles of the stream ``x`` to a tensor, one after the other.

    ``wreq`` are requests, ``wdata`` bus words, and ``ack`` their acknowledgements, all raw.

    Parameters
    ----------
    region : str
        Name of the tensor.
    base : Address
        Its address in bytes, a multiple of the bus word.
    size : int
        Its bytes; a stream that holds more is an error.
    row_bytes : int
        Bytes of a row, if its last beat has padding, which the memory has not; else 0.
    """

    region: str
    base: Address
    size: int
    row_bytes: int = 0

    kind: ClassVar = "store"
    main: ClassVar = "pack"
    inputs: ClassVar = ("x", "ack")
    outputs: ClassVar = ("wreq", "wdata")

    @staticmethod
    def raw(bus: Bus) -> dict[str, Format]:
        """The formats of the raw ports."""
        return {
            "wreq": words(write_request_bits(bus)),
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
            Bus words that wait until their burst is complete, at least 2; the full rate needs two
            bursts.
        """
        form = Store.raw(bus)
        return (
            raw_channel(f"{name}_wreq", form["wreq"]),
            raw_channel(f"{name}_wdata", form["wdata"], depth),
            raw_channel(f"{name}_ack", form["ack"]),
        )

    def gear(self, x: Channel) -> Gear:
        """How bytes of the beats on a channel become those of words."""
        beat = x.lanes * stored_bits(x) // 8
        return Gear.of(self.row_bytes or beat, beat)

    def room(self, x: Channel) -> int:
        """What the tensor has room for: rows, if they end within a beat, else beats."""
        return 8 * self.size // (8 * self.row_bytes or x.lanes * stored_bits(x))

    def access_problem(self, bus: Bus, beat_bits: int, region: Region) -> str | None:
        """Why this write of the tensor is impossible, or None.

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
        if (self.base, self.size) != (region.base, region.size):
            return (
                f"{self.region} has {region.size} bytes at {region.base}, not {self.size} at "
                f"{self.base}"
            )
        if self.base % bus.bytes:
            return (
                f"{self.region} lies at {self.base}, not a multiple of the bus word of {bus.bytes}"
            )
        return None

    def problem(self, unit: Unit, design: Design) -> str | None:
        x, region = design.channel[unit.inputs["x"]], design.regions.get(self.region)
        if region is None:
            return f"no tensor {self.region} lies off chip"
        if x.rank is None:
            return f"x needs a channel with structure, but {x.name} is raw"
        beat = x.lanes * stored_bits(x)
        if problem := self.access_problem(design.bus, beat, region):
            return problem
        if 8 * self.row_bytes % beat != x.tail * stored_bits(x):
            return f"rows of {self.row_bytes} bytes don't end in lane {x.tail} of {x.name}"
        return misfit(unit, design, **self.raw(design.bus))

    def bursts(self, bus: Bus) -> Channel:
        """The queue of bursts without acknowledgement."""
        return Channel("bursts", 1, 2, None, bus.outstanding + 4)

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        return [self.bursts(design.bus)]
