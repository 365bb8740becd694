"""When the off-chip memory answers: the settings shared by the simulation and the cycle model."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .arguments import take_fields
from .errors import StepError


@dataclass(frozen=True)
class MemoryTiming:
    """Timing of the off-chip memory, in cycles; the rules are in ``docs/memory-timing.md``.

    Parameters
    ----------
    read_latency : int
        From the handshake of a read address to the first cycle in which its data may move.
    read_interval : int
        Between two beats of read data: one bus word in so many cycles.
    read_outstanding : int
        Bursts accepted whose last beat has not moved.
    write_latency : int
        From the last beat of a burst to the first cycle in which its response may move.
    write_interval : int
        Between two beats of write data.
    write_outstanding : int
        Bursts accepted whose response has not moved.

    Raises
    ------
    StepError
        Where a setting is below 1, or more bursts are outstanding than the memory can hold.
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
