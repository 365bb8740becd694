"""Off-chip memory as in the paper: a latency, and a number of requests served per cycle."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.errors import StepError
from stepgen.timing.kernel import Memory, helper, offsets, packed
from stepgen.timing.layout import Layout
from stepgen.timing.tiles import positive
from stepgen.timing.tiles.ports import KIND_SIMPLE, MEMORY, PORT

MOST_CHANNELS = 1 << 16
LONG = 4
"""Periods of alike cycles from which on some are skipped: all but the first two and the last."""

S = offsets(
    *MEMORY._fields,
    *("channels", "interval", "latency", "request_bytes", "rows_apart", "triangular"),
    *("updated", "position", "first_asking", "free"),
)
"""The record of the memory; `free` has a word per channel: when it can take a request. As many
words follow, for what it was a period before."""
P = offsets(*PORT._fields, "order", "next_asking")
"""The record of a port; ports with requests to issue are linked in their order."""


@dataclass(frozen=True)
class SimpleMemory:
    """Channels that each serve one request every `interval` cycles, independent of its address.

    Requests go to the channels round robin: those of one cycle in the order of the program's
    operators, loads before stores. Equal tiles that are requested at the same time therefore arrive
    one after the other.

    Parameters
    ----------
    channels : int
        Number of channels.
    request_bytes : int
        Bytes of one request.
    interval : int
        Cycles between two requests of one channel.
    latency : int
        Cycles from the last request of an operator to its response, without contention.
    requests_per_cycle : int
        Requests that an operator issues per cycle.
    rows_apart : bool
        Whether each row of a tile is rounded up to complete requests, as in the published
        simulator; else the tile, which is contiguous.
    triangular : bool
        Whether the requests that an operator issues in a cycle go 0, 1, 2, … channels further than
        the one before, as in the published simulator. If the number of channels is not a power of
        two, some are skipped.
    stores_apart : bool
        Whether stores have the same number of separate channels, as on an AXI bus.

    Raises
    ------
    StepError
        If a number is not positive, or there are too many channels.
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
        positive.check("off-chip memory", positive.integers(self))
        if self.channels > MOST_CHANNELS:
            raise StepError(
                f"off-chip memory: channels must be at most {MOST_CHANNELS}, not {self.channels}"
            )

    @property
    def peak(self) -> float:
        """Bytes per cycle."""
        return self.channels * self.request_bytes / self.interval

    def lay_out(self, layout: Layout) -> int:
        """Place the record of the memory in the state array and return its address."""
        one = packed(
            S,
            kind=KIND_SIMPLE,
            channels=self.channels,
            interval=self.interval,
            latency=self.latency,
            request_bytes=self.request_bytes,
            rows_apart=self.rows_apart,
            triangular=self.triangular,
            updated=0,
            position=0,
            first_asking=0,
            free=[0] * 2 * self.channels,
        )
        return layout.reserve(one * (2 if self.stores_apart else 1))

    def port(self, layout: Layout, memory: int, *, write: bool = False) -> int:
        """Place the record of an operator's port in the state array and return its address."""
        if write and self.stores_apart:
            memory += S.free + 2 * self.channels
        own = packed(
            P,
            model=memory,
            rate=self.requests_per_cycle,
            left=0,
            at=0,
            done=0,
            order=write,
            next_asking=0,
        )
        return layout.reserve(own)


@helper
def start(M: Memory, port: int, t: int, rows: int, row_bytes: int) -> None:
    """Begin to issue the requests of one tile in cycle `t`."""
    memory = M[port + P.model]
    size = M[memory + S.request_bytes]
    if M[memory + S.rows_apart]:
        requests = rows * ((row_bytes + size - 1) // size)
    else:
        requests = (rows * row_bytes + size - 1) // size
    _update(M, memory, t)
    # A tile without elements has no requests, but takes one cycle.
    M[port + P.at] = t + max(1, (requests + M[port + P.rate] - 1) // M[port + P.rate])
    M[port + P.done] = t + M[memory + S.latency]
    M[port + P.left] = requests
    if requests:
        link = memory + S.first_asking
        while M[link] and _precedes(M, M[link], port):
            link = M[link] + P.next_asking
        M[port + P.next_asking] = M[link]
        M[link] = port


@helper
def advance(M: Memory, port: int, t: int) -> int:
    """Continue in cycle `t`; returns 0 when all requests are issued, else the next step."""
    if t < M[port + P.at]:
        return M[port + P.at]
    _update(M, M[port + P.model], t)
    return 0


@helper
def _precedes(M: Memory, one: int, other: int) -> bool:
    """Whether a port is before another one: loads before stores, else as in the program."""
    if M[one + P.order] != M[other + P.order]:
        return M[one + P.order] < M[other + P.order]
    return one < other


@helper
def _update(M: Memory, memory: int, t: int) -> None:
    """Serve the requests issued before cycle `t`; all transfers that began before are known."""
    now = M[memory + S.updated]
    while now < t and M[memory + S.first_asking]:
        cycles, period = _alike(M, memory, t - now)
        if cycles >= LONG * period:
            now += _skip(M, memory, now, cycles, period)
        else:
            end = now + max(cycles, 1)
            while now < end:
                _serve(M, memory, now)
                now += 1
    M[memory + S.updated] = t


@helper
def _alike(M: Memory, memory: int, most: int) -> tuple[int, int]:
    """Cycles, at most `most`, in which the same ports issue as many requests as they can, and the
    cycles after which the channels that they go to repeat."""
    cycles, requests, port = most, 0, M[memory + S.first_asking]
    while port:
        cycles = min(cycles, M[port + P.left] // M[port + P.rate])
        requests += M[port + P.rate]
        port = M[port + P.next_asking]
    if M[memory + S.triangular]:
        requests = requests * (requests + 1) // 2
    period: int = M[memory + S.channels]
    common, rest = period, requests % period
    while rest:
        common, rest = rest, common % rest
    return cycles, period // common


@helper
def _serve(M: Memory, memory: int, now: int) -> None:
    """Serve the requests issued in cycle `now`."""
    channels, interval, latency = (
        M[memory + S.channels],
        M[memory + S.interval],
        M[memory + S.latency],
    )
    free, triangular = memory + S.free, M[memory + S.triangular]
    position = M[memory + S.position]
    step, link = 0, memory + S.first_asking
    while M[link]:
        port = M[link]
        count = min(M[port + P.left], M[port + P.rate])
        last = now
        for _ in range(count):
            if triangular:
                position += step
                if position >= channels:
                    position -= channels
            begin = max(M[free + position], now)
            M[free + position] = begin + interval
            last = max(last, begin)
            step = step + 1 if step + 1 < channels else 0
            if not triangular:
                position = position + 1 if position + 1 < channels else 0
        M[port + P.done] = max(M[port + P.done], last + latency)
        M[port + P.left] -= count
        if M[port + P.left]:
            link = port + P.next_asking
        else:
            M[link] = M[port + P.next_asking]
    if triangular:
        position = (position + step) % channels
    M[memory + S.position] = position


@helper
def _skip(M: Memory, memory: int, now: int, cycles: int, period: int) -> int:
    """Serve the first of `cycles` alike ones, all but the last period; returns their number.

    In each period a channel gets as many requests as in the one before, in the same cycles. If it
    is never idle, the cycle in which it is free moves by the same number each time. If it is, what
    it gets in the last period, from where it is idle, alone decides: moved by no more than a
    period each time, it is idle there again. So the second period shows how the next ones move it.
    """
    channels, free = M[memory + S.channels], memory + S.free
    for n in range(2 * period):
        if n == period:
            for c in range(channels):
                M[free + channels + c] = M[free + c]
        _serve(M, memory, now + n)
    periods = cycles // period - 3
    for c in range(channels):
        M[free + c] += periods * (M[free + c] - M[free + channels + c])
    port = M[memory + S.first_asking]
    while port:
        M[port + P.left] -= periods * period * M[port + P.rate]
        port = M[port + P.next_asking]
    return (2 + periods) * period
