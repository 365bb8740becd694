"""Static facts of `memory`: the arbiter between the off-chip units and the AXI4 master.

Ports
    inputs ``(req_0, …, wreq_0, …, wdata_0, …, r, b)``;
    outputs ``(data_0, …, ack_0, …, ar, aw, w)``.
    There is one ``req`` and ``data`` per load and one ``wreq``, ``wdata`` and ``ack`` per store.
    Without loads there are no ``ar`` and ``r``, without stores no ``aw``, ``w`` and ``b``.
Params
    loads, stores : int
        How many there are of each.

`join` makes the unit, the master and the channels between them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..design import LUTRAM, MEMORY_LATENCY, Bus, Channel, Design, Unit, memory_kind
from .axi import LENGTH_BITS, read_bits, request_bits, write_bits, write_request_bits

WAYS = 8
"""Ways of a multiplexer without a register."""


def stages(ways: int) -> int:
    """Register stages of a multiplexer of so many ways, `WAYS` to one in each."""
    count = 0
    while ways > WAYS:
        ways = -(-ways // WAYS)
        count += 1
    return count


def index_bits(ways: int) -> int:
    """Bits that name one of so many units, at least 1."""
    return max(1, (ways - 1).bit_length())


def queues(unit: Unit, design: Design) -> list[Channel]:
    """The channels inside that remember whose turn it is: at ``r``, at ``w`` and at ``b``."""
    bus = design.bus
    loads, stores = unit.params["loads"], unit.params["stores"]
    tail = write_request_bits(bus) - request_bits(bus)
    wanted = [("read_owners", loads, 0)]
    wanted += [("write_movers", stores, LENGTH_BITS + tail), ("write_owners", stores, 0)]
    return [
        Channel(
            name,
            1,
            index_bits(count) + more,
            None,
            max(2, bus.outstanding),
            delay=stages(count),
        )
        for name, count, more in wanted
        if count
    ]


def join(
    bus: Bus, loads: Sequence[tuple[str, str]], stores: Sequence[tuple[str, str, str]]
) -> tuple[tuple[Unit, Unit], tuple[Channel, ...]]:
    """The arbiter ``memory`` and the master ``mem``, and the channels between them.

    Parameters
    ----------
    bus : Bus
    loads, stores : sequence of tuple of str
        For each its channels in the order in which `load.channels` and `store.channels` make them.

    Returns
    -------
    units : tuple of Unit
    channels : tuple of Channel
        Those between the two: ``mem_ar``, ``mem_r``, ``mem_aw``, ``mem_w``, ``mem_b``.
    """
    down: list[str] = []
    up: list[str] = []
    channels: list[Channel] = []

    def add(side: list[str], name: str, bits: int, delay: int = 0) -> None:
        side.append(name)
        depth = 2
        if delay:
            depth = delay + MEMORY_LATENCY[LUTRAM] + 1
            assert memory_kind(depth) != "blockram"
        channels.append(Channel(name, 1, bits, None, depth, delay=delay, signed=False))

    if loads:
        add(down, "mem_ar", request_bits(bus), stages(len(loads)))
        add(up, "mem_r", read_bits(bus))
    if stores:
        add(down, "mem_aw", request_bits(bus), stages(len(stores)))
        add(down, "mem_w", write_bits(bus), stages(len(stores)))
        add(up, "mem_b", 1)
    memory = Unit(
        "memory",
        "memory",
        {"loads": len(loads), "stores": len(stores)},
        (
            *(request for request, _ in loads),
            *(request for request, _, _ in stores),
            *(data for _, data, _ in stores),
            *up,
        ),
        (*(data for _, data in loads), *(ack for _, _, ack in stores), *down),
    )
    axi = Unit("mem", "axi", {"reads": bool(loads), "writes": bool(stores)}, tuple(down), tuple(up))
    return (memory, axi), tuple(channels)
