"""Off-chip memory as the paper has it: a latency, and a number of requests served per cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb

from ..layout import Layout
from . import whole

KIND_SIMPLE = 0

# Record of the memory; the first word is the kind of model
KIND, SERVED, LATENCY, BACKLOG, UPDATED, OFFERED, REQUEST_BYTES, ROWS_APART, PARTS = range(9)
RECORD_SIZE = 9
# Record of a port
MODEL, RATE, LEFT, AT, DONE = range(5)
SHARE = LEFT
"""Of the requests that are left, those that are offered in each cycle, in parts."""

FINE = 1 << 12
"""Parts that a request is counted in, about: as many as whole parts come to in each cycle."""


@dataclass(frozen=True)
class SimpleMemory:
    """Channels that each serve one request every `interval` cycles, whatever its address.

    Requests wait in one queue, which all channels serve; this is what spreading consecutive
    requests over the channels comes to (see the tests, which serve request by request).

    Parameters
    ----------
    channels : int
        How many there are.
    request_bytes : int
        Bytes of one request.
    interval : int
        Cycles between two requests of one channel.
    latency : int
        Cycles from the request that an operator offers last to its answer, when nobody waits.
    requests_per_cycle : int
        How many requests an operator offers in a cycle.
    rows_apart : bool
        Whether each row of a tile is rounded up to whole requests, as in the published simulator;
        else the whole tile, which lies in one piece.
    stores_apart : bool
        Whether stores have as many channels of their own, as on an AXI bus.

    Raises
    ------
    StepError
        Where a number is not positive.
    """

    channels: int = 32
    request_bytes: int = 64
    interval: int = 2
    latency: int = 18
    requests_per_cycle: int = 16
    rows_apart: bool = False
    stores_apart: bool = False

    def __post_init__(self) -> None:
        whole.check("off-chip memory", whole.numbers(self))

    @property
    def peak(self) -> float:
        """Bytes per cycle."""
        return self.channels * self.request_bytes / self.interval

    def lay_out(self, layout: Layout) -> int:
        """Put the record of the memory into the array and return its address."""
        each = max(1, FINE // self.interval)
        served, parts = self.channels * each, self.interval * each
        # The cycle in which a tile is passed on separates its answer from the next request.
        one = [KIND_SIMPLE, served, self.latency - 1, 0, 0, 0]
        one += [self.request_bytes, self.rows_apart, parts]
        return layout.reserve(one * (2 if self.stores_apart else 1))

    def port(self, layout: Layout, memory: int, *, write: bool = False) -> int:
        """Put the record of an operator's port into the array and return its address."""
        if write and self.stores_apart:
            memory += RECORD_SIZE
        return layout.reserve([memory, self.requests_per_cycle, 0, 0, 0])


@nb.njit(inline="always")
def _update(M, memory, t):  # type: ignore[no-untyped-def]
    """Bring the queue to cycle `t`: what was offered since, less what was served."""
    backlog = M[memory + BACKLOG]
    backlog += (M[memory + OFFERED] - M[memory + SERVED]) * (t - M[memory + UPDATED])
    M[memory + BACKLOG] = max(backlog, 0)
    M[memory + UPDATED] = t


@nb.njit
def start(M, port, t, rows, row_bytes):  # type: ignore[no-untyped-def]
    """Begin to offer the requests of one tile in cycle `t`."""
    memory = M[port + MODEL]
    size = M[memory + REQUEST_BYTES]
    if M[memory + ROWS_APART]:
        requests = rows * ((row_bytes + size - 1) // size)
    else:
        requests = (rows * row_bytes + size - 1) // size
    _update(M, memory, t)
    # A tile without elements asks for nothing, and so takes the cycle of asking.
    cycles = max(1, (requests + M[port + RATE] - 1) // M[port + RATE])
    # All are offered evenly, so that the last cycle counts no more than what is left for it.
    M[port + SHARE] = requests * M[memory + PARTS] // cycles
    M[memory + OFFERED] += M[port + SHARE]
    M[port + AT] = t + cycles


@nb.njit
def advance(M, port, t):  # type: ignore[no-untyped-def]
    """Go on offering requests in cycle `t`; returns 0 when all were, else when to look again."""
    if t < M[port + AT]:
        return M[port + AT]
    memory = M[port + MODEL]
    _update(M, memory, t)
    M[memory + OFFERED] -= M[port + SHARE]
    queue = (M[memory + BACKLOG] + M[memory + SERVED] - 1) // M[memory + SERVED]
    M[port + DONE] = t + queue + M[memory + LATENCY]
    return 0
