"""Reproducible pseudo-random stalls: a pure function of a key and the cycle.

Simulated memory, drivers of stream ports and the cycle model all use `stalled` to decide whether a
channel stalls in a cycle, so predictions with stalls are exact too. The function is in
``stepgen/drivers/stalls.py``, for Verilog in ``sim/verilator/stalls.svh``, and for C++ in
``sim/verilator/driver.cpp``; tests compare them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stepgen.drivers.stalls import key_and_threshold, mix, stalled
from stepgen.ir.arguments import take_fields
from stepgen.ir.errors import StepError
from stepgen.ir.helper import helper

__all__ = ["MEMORY_CHANNELS", "Stalls", "stalled"]

MEMORY_CHANNELS = ("mem.ar", "mem.r", "mem.aw", "mem.w", "mem.b")
"""Names of the five channels of the off-chip memory."""


helper(mix)
helper(stalled)


@dataclass(frozen=True)
class Stalls:
    """How often each channel stalls, and the seed that decides when.

    Parameters
    ----------
    seed : int
        Selects the stalled cycles.
    probability : mapping of str to float
        Share of stalled cycles by name: a stream port's name, or one of `MEMORY_CHANNELS`.
        Other channels never stall.
    late : mapping of str to int
        Cycles of a run, by the name of a stream port, before which it always stalls.

    Raises
    ------
    StepError
        If a share is not in [0, 1): a channel that always stalls would deadlock; if a port's
        lateness is negative, or no stream has this name.
    """

    seed: int = 0
    probability: Mapping[str, float] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        take_fields(self)
        for name, share in self.probability.items():
            if not 0 <= share < 1:
                raise StepError(
                    f"stalls: {name} must stall in a share of [0, 1) of the cycles, not {share}"
                )
        for name, cycles in self.late.items():
            if name in MEMORY_CHANNELS:
                raise StepError(f"stalls: {name} can't be late, only stream ports can")
            if cycles < 0:
                raise StepError(f"stalls: {name} must be late by 0 cycles or more, not {cycles}")

    def of(self, name: str) -> tuple[int, int]:
        """Key and threshold of a channel, both 32 bits; a threshold of 0 never stalls."""
        return key_and_threshold(name, self.probability.get(name, 0.0), self.seed)
