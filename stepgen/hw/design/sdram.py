"""The queues of an SDRAM's controller: the cycle model and the circuit have the same ones."""

from __future__ import annotations

from stepgen.hw.design.table import Bus, Channel
from stepgen.ir.sdram_timing import SdramTiming

__all__ = ["LENGTH_BITS", "sdram_queues"]

LENGTH_BITS = 8
"""Of a burst's words, less 1."""


def sdram_queues(timing: SdramTiming, bus: Bus) -> dict[str, Channel]:
    """The controller's queues, by channel of the bus; words read come late by the memory's time."""
    depths = timing.queues(bus.burst)
    request = LENGTH_BITS + (timing.bytes // bus.bytes).bit_length() - 1
    late = timing.cas + timing.transfers(bus.data_bits) + timing.late
    widths = {
        "ar": request,
        "aw": request,
        "w": bus.data_bits + bus.bytes,
        "r": 1 + bus.data_bits,
        "b": 1,
    }
    return {
        name: Channel(name, 1, width, None, depths[name], delay=late if name == "r" else 0)
        for name, width in widths.items()
    }
