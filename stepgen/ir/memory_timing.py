"""Timing parameters of the off-chip memory, for simulation and cycle model."""

from __future__ import annotations

from dataclasses import dataclass, fields

from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError


@dataclass(frozen=True)
class MemoryTiming:
    """Timing of the off-chip memory, in cycles; the rules are in ``docs/memory-timing.md``.

    Parameters
    ----------
    read_latency : int
        From the handshake of a read address to the first cycle in which its data may be sent.
    read_interval : int
        Initiation interval of read data: one bus word every `read_interval` cycles.
    read_outstanding : int
        Most bursts accepted whose last beat has not been sent.
    write_latency : int
        From the last beat of a burst to the first cycle in which its response may be sent.
    write_interval : int
        Initiation interval of write data.
    write_outstanding : int
        Most bursts accepted whose response has not been sent.

    Raises
    ------
    StepError
        If a setting is below 1, or too many bursts are outstanding for the memory.
    """

    read_latency: int = 16
    read_interval: int = 1
    read_outstanding: int = 16
    write_latency: int = 8
    write_interval: int = 1
    write_outstanding: int = 16

    MAX_OUTSTANDING = 64

    def __post_init__(self) -> None:
        take_fields(self)
        for item in fields(self):
            value = getattr(self, item.name)
            limit = self.MAX_OUTSTANDING if item.name.endswith("outstanding") else 2**31 - 1
            if not 1 <= value <= limit:
                raise StepError(f"memory timing: {item.name} must be 1 to {limit}, not {value}")
