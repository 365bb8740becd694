"""When an SDRAM takes commands within a cycle, and at which edge its data are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepgen.ir.errors import StepError

MOST_LATE = 2
"""Cycles that data may come late."""


@dataclass(frozen=True)
class SdramClock:
    """How the clock of an SDRAM lies to that of its controller.

    Attributes
    ----------
    step, steps : int
        The chip's edge comes ``step / steps`` of a period after the controller's.
    late : int
        Whole cycles between the first edge of the controller after that and the one at which it
        takes what the chip drives.
    """

    step: int
    steps: int
    late: int


def sdram_clock(hz: float, steps: int, way: Mapping[str, Any]) -> SdramClock:
    """The phase and the edge with the largest margin.

    Parameters
    ----------
    hz : float
    steps : int
        In how many phases the clock can be made.
    way : mapping
        Nanoseconds: ``setup``, from the latest change of a pin to the chip's edge; ``hold``, from
        there to the earliest next change; ``round_trip``, the least and the most from the chip's
        edge, as it is made, to what it drives at the controller's registers.

    Raises
    ------
    StepError
        If no phase leaves time for all of this.
    """
    period = 1e9 / hz
    least, most = map(float, way["round_trip"])
    setup, hold = float(way["setup"]), float(way["hold"])

    def margin(step: int, late: int) -> float:
        edge = period * step / steps
        taken = period * (1 + late)
        return min(
            edge - setup,
            period - edge - hold,
            taken - edge - most,
            edge + period + least - taken,
        )

    choices = [(step, late) for step in range(1, steps) for late in range(MOST_LATE + 1)]
    best = max(choices, key=lambda choice: margin(*choice), default=None)
    if best is None or margin(*best) < 0:
        raise StepError(
            f"at {hz / 1e6:g} MHz no phase of the SDRAM's clock, of {steps}, leaves its pins the "
            f"time that the board's file asks for: choose a slower clock"
        )
    return SdramClock(best[0], steps, best[1])
