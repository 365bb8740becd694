"""Off-chip memory as the paper has it: a latency, and a number of requests served per cycle."""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb

from ...ir.errors import StepError
from ..layout import Layout
from . import whole

KIND_SIMPLE = 0
MOST_CHANNELS = 1 << 16

# Record of the memory; the first word is the kind of model. Behind it lies for each channel when it
# is free for the next request.
KIND, CHANNELS, INTERVAL, LATENCY, REQUEST_BYTES, ROWS_APART, TRIANGULAR = range(7)
UPDATED, POSITION, FIRST_ASKING, FREE = range(7, 11)
# Record of a port; those that have requests to offer are linked in their order
MODEL, RATE, LEFT, AT, DONE, ORDER, NEXT_ASKING = range(7)


@dataclass(frozen=True)
class SimpleMemory:
    """Channels that each serve one request every `interval` cycles, whatever its address.

    Requests go to the channels in turn: those of one cycle in the order of the program's operators,
    loads before stores. Equal tiles that are asked for at once therefore come one after the other.

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
    triangular : bool
        Whether the requests that an operator offers in a cycle go 0, 1, 2, … channels further than
        the one before, as in the published simulator. Where the number of channels is no power of
        two, some are missed.
    stores_apart : bool
        Whether stores have as many channels of their own, as on an AXI bus.

    Raises
    ------
    StepError
        Where a number is not positive, or there are too many channels.
    """

    channels: int = 32
    request_bytes: int = 64
    interval: int = 2
    latency: int = 18
    requests_per_cycle: int = 16
    rows_apart: bool = False
    triangular: bool = False
    stores_apart: bool = False

    def __post_init__(self) -> None:
        whole.check("off-chip memory", whole.numbers(self))
        if self.channels > MOST_CHANNELS:
            raise StepError(
                f"off-chip memory: channels must be at most {MOST_CHANNELS}, not {self.channels}"
            )

    @property
    def peak(self) -> float:
        """Bytes per cycle."""
        return self.channels * self.request_bytes / self.interval

    def lay_out(self, layout: Layout) -> int:
        """Put the record of the memory into the array and return its address."""
        one = [KIND_SIMPLE, self.channels, self.interval, self.latency, self.request_bytes]
        one += [self.rows_apart, self.triangular, 0, 0, 0, *[0] * self.channels]
        return layout.reserve(one * (2 if self.stores_apart else 1))

    def port(self, layout: Layout, memory: int, *, write: bool = False) -> int:
        """Put the record of an operator's port into the array and return its address."""
        if write and self.stores_apart:
            memory += FREE + self.channels
        return layout.reserve([memory, self.requests_per_cycle, 0, 0, 0, write, 0])


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
    M[port + AT] = t + max(1, (requests + M[port + RATE] - 1) // M[port + RATE])
    M[port + DONE] = t + M[memory + LATENCY]
    M[port + LEFT] = requests
    if requests:
        link = memory + FIRST_ASKING
        while M[link] and _precedes(M, M[link], port):
            link = M[link] + NEXT_ASKING
        M[port + NEXT_ASKING] = M[link]
        M[link] = port


@nb.njit
def advance(M, port, t):  # type: ignore[no-untyped-def]
    """Go on offering requests in cycle `t`; returns 0 when all were, else when to look again."""
    if t < M[port + AT]:
        return M[port + AT]
    _update(M, M[port + MODEL], t)
    return 0


@nb.njit(inline="always")
def _precedes(M, one, other):  # type: ignore[no-untyped-def]
    """Whether a port comes before another one: loads before stores, else as in the program."""
    if M[one + ORDER] != M[other + ORDER]:
        return M[one + ORDER] < M[other + ORDER]
    return one < other


@nb.njit
def _update(M, memory, t):  # type: ignore[no-untyped-def]
    """Serve what was offered before cycle `t`: all that was begun before is known by now."""
    channels, interval, latency = M[memory + CHANNELS], M[memory + INTERVAL], M[memory + LATENCY]
    free, triangular = memory + FREE, M[memory + TRIANGULAR]
    position = M[memory + POSITION]
    for now in range(M[memory + UPDATED], t):
        link = memory + FIRST_ASKING
        if M[link] == 0:
            break
        number = 0
        while M[link]:
            port = M[link]
            count = min(M[port + LEFT], M[port + RATE])
            last = now
            for _ in range(count):
                if triangular:
                    position = (position + number) % channels
                begin = max(M[free + position], now)
                M[free + position] = begin + interval
                last = max(last, begin)
                number += 1
                if not triangular:
                    position = position + 1 if position + 1 < channels else 0
            M[port + DONE] = max(M[port + DONE], last + latency)
            M[port + LEFT] -= count
            if M[port + LEFT]:
                link = port + NEXT_ASKING
            else:
                M[link] = M[port + NEXT_ASKING]
        if triangular:
            position = (position + number) % channels
    M[memory + POSITION], M[memory + UPDATED] = position, t
