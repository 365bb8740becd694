"""Memory: the round-robin arbiter between the off-chip units and the AXI4 master."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stepgen.hw.design import stages
from stepgen.hw.design.formats import Format, misfit
from stepgen.hw.design.params import UnitParams, numbered
from stepgen.hw.design.table import Bus, Channel, Design, Unit
from stepgen.hw.units.axi.params import (
    LENGTH_BITS,
    Axi,
    raw_channel,
    read_bits,
    request_bits,
    words,
    write_bits,
    write_request_bits,
)


@dataclass(frozen=True)
class Memory(UnitParams):
    """The arbiter between loads and stores and the AXI4 master; `join` makes both.

    Each load has a port for requests, ``req``, and one for words, ``data``; each store has
    ``wreq``, ``wdata`` and, for acknowledgements, ``ack``; all are numbered from 0. With loads
    there are ``ar`` and ``r``, with stores ``aw``, ``w`` and ``b``. All are raw.

    Parameters
    ----------
    loads, stores : int
        Number of each.
    within : tuple of int
        Numbers of the stores whose bursts may start within a word.
    """

    loads: int
    stores: int
    within: tuple[int, ...] = ()

    kind: ClassVar = "memory"

    @property
    def main(self) -> str:
        return "return" if self.loads else "move"

    @property
    def inputs(self) -> tuple[str, ...]:
        return (
            *numbered("req", self.loads),
            *numbered("wreq", self.stores),
            *numbered("wdata", self.stores),
            *(("r",) if self.loads else ()),
            *(("b",) if self.stores else ()),
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        return (
            *numbered("data", self.loads),
            *numbered("ack", self.stores),
            *(("ar",) if self.loads else ()),
            *(("aw", "w") if self.stores else ()),
        )

    def raw(self, bus: Bus) -> dict[str, Format]:
        """The format of the words at each port; a multiplexer of many ways is pipelined."""
        reads, writes = stages.multiplexer(self.loads), stages.multiplexer(self.stores)
        formats = {
            "ar": words(request_bits(bus), reads),
            "r": words(read_bits(bus)),
            "aw": words(request_bits(bus), writes),
            "w": words(write_bits(bus), writes),
            "b": words(1),
        }
        formats |= dict.fromkeys(numbered("req", self.loads), words(request_bits(bus)))
        formats |= dict.fromkeys(numbered("data", self.loads), words(bus.data_bits))
        for n, port in enumerate(numbered("wreq", self.stores)):
            formats[port] = words(write_request_bits(bus, within=n in self.within))
        formats |= dict.fromkeys(numbered("wdata", self.stores), words(bus.data_bits))
        formats |= dict.fromkeys(numbered("ack", self.stores), words(1))
        return {port: formats[port] for port in (*self.inputs, *self.outputs)}

    def problem(self, unit: Unit, design: Design) -> str | None:
        if min(self.loads, self.stores) < 0 or not self.loads + self.stores:
            return f"it must join units to the bus, not {self.loads} loads and {self.stores} stores"
        return misfit(unit, design, **self.raw(design.bus))

    def turns(self, bus: Bus) -> dict[str, Channel]:
        """The queues that record, one-hot, whose burst is next: at ``r``, at ``w`` and at ``b``."""
        tail = write_request_bits(bus, within=bool(self.within)) - request_bits(bus)
        wanted = [("read_owners", self.loads, 0)]
        wanted += [("write_movers", self.stores, LENGTH_BITS + tail)]
        wanted += [("write_owners", self.stores, 0)]
        depth = max(2, bus.outstanding)
        return {
            name: Channel(name, 1, count + more, None, depth, delay=stages.multiplexer(count))
            for name, count, more in wanted
            if count
        }

    def queues(self, unit: Unit, design: Design) -> list[Channel]:
        return [*self.turns(design.bus).values()]


def join(
    bus: Bus,
    loads: Sequence[tuple[str, str]],
    stores: Sequence[tuple[str, str, str]],
    within: Sequence[int] = (),
) -> tuple[tuple[Unit, Unit], tuple[Channel, ...]]:
    """The arbiter ``memory`` and the master ``mem``, and the channels between them.

    Parameters
    ----------
    bus : Bus
    loads, stores : sequence of tuple of str
        For each its channels in the order in which `Load.channels` and `Store.channels` make them.
    within : sequence of int
        Numbers of the stores whose bursts may start within a word.

    Returns
    -------
    units : tuple of Unit
    channels : tuple of Channel
        Those between the two: ``mem_ar``, ``mem_r``, ``mem_aw``, ``mem_w``, ``mem_b``.
    """
    arbiter, master = Memory(len(loads), len(stores), tuple(within)), Axi(bool(loads), bool(stores))
    names = {port: f"mem_{port}" for port in (*master.inputs, *master.outputs)}
    formats = arbiter.raw(bus)
    channels = [
        raw_channel(names[port], formats[port])
        for port in ("ar", "r", "aw", "w", "b")
        if port in names
    ]
    for ports, users in ((("req", "data"), loads), (("wreq", "wdata", "ack"), stores)):
        for port, channel_names in zip(ports, zip(*users, strict=True), strict=False):
            names |= zip(numbered(port, len(users)), channel_names, strict=True)

    def unit(name: str, params: Memory | Axi) -> Unit:
        return Unit(
            name,
            params,
            {port: names[port] for port in params.inputs},
            {port: names[port] for port in params.outputs},
        )

    return (unit("memory", arbiter), unit("mem", master)), tuple(channels)
