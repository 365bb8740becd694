"""The paper's off-chip memory in plain Python: every channel, request and cycle.

Requests go to the channels in turn, or, in the published simulator, from a position that moves on
by 0, 1, 2, .. within a cycle; each channel serves one every `interval` cycles, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

HOP = 1
"""Cycles from an operator to the memory, from there to a channel, and from the memory back."""


@dataclass
class Load:
    """An operator that loads tiles one after the other.

    Parameters
    ----------
    requests : sequence of int
        Of each tile.
    rate : int
        How many it offers per cycle.
    start : int
        When it begins.
    """

    requests: Sequence[int]
    rate: int
    start: int = 0
    done: list[int] = field(default_factory=list)
    """When each tile is there."""
    left: int = 0
    answers: list[int] = field(default_factory=list)


def serve(
    loads: Sequence[Load],
    *,
    channels: int = 32,
    interval: int = 2,
    latency: int = 16,
    triangular: bool = True,
) -> None:
    """Let all operators load all of their tiles; fills in `done`."""
    free = [0] * channels
    position = 0
    begun = [0] * len(loads)
    ready = [load.start for load in loads]
    t = 0
    while any(len(load.done) < len(load.requests) for load in loads):
        for i, load in enumerate(loads):
            if begun[i] < len(load.requests) and not load.left and ready[i] <= t:
                load.left, load.answers = load.requests[begun[i]], []
                begun[i] += 1
        offered = 0
        for i, load in enumerate(loads):
            count = min(load.left, load.rate)
            for _ in range(count):
                position = (position + (offered if triangular else 1)) % channels
                offered += 1
                c = max(free[position], t + 2 * HOP)
                free[position] = c + interval
                load.answers.append(c + latency + HOP)
            load.left -= count
            if count and not load.left:
                load.done.append(max(load.answers))
                ready[i] = load.done[-1]
        position = (position + (offered if triangular else 0)) % channels
        t += 1
