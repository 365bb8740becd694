"""DRAM, served burst by burst: each constraint is looked up in the list of all earlier commands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from stepgen.timing.tiles.dram import Dram

TICKS, CHUNK = 16, 16


@dataclass(frozen=True)
class Request:
    """A tile that a port is to transfer, not before `cycle`."""

    cycle: int
    address: int
    rows: int
    row_bytes: int
    pitch: int
    write: bool


@dataclass
class Channel:
    """One channel: its commands so far, as (tick, name, bank), and the open row of each bank."""

    due: int
    commands: list[tuple[int, str, int]] = field(default_factory=list)
    open: dict[int, int] = field(default_factory=dict)
    columns: list[int] = field(default_factory=list)

    def all(self, *names: str, bank: int | None = None) -> list[int]:
        """Ticks of all commands of these names, to one bank or all."""
        return [t for t, n, b in self.commands if n in names and bank in (None, b)]


def scatter(number: int) -> int:
    return (number * 0x9E3779B1 >> 12) % 1024


def place(memory: Dram, burst: int) -> tuple[int, int, int]:
    """Channel, bank and row of a burst."""
    per_piece = memory.interleave // memory.burst_bytes
    piece, within = divmod(burst, per_piece)
    lap, turn_of_channel = divmod(piece, memory.channels)
    index = lap * per_piece + within
    block = index // (memory.turn * memory.row_bytes // memory.burst_bytes)
    sets = memory.bank_groups * memory.banks // memory.turn
    row, turn_of_set = divmod(block, sets)
    channel = (turn_of_channel + lap * memory.channels + scatter(block)) % memory.channels
    in_turn = (turn_of_set + row * sets + scatter(row)) % sets
    return channel, in_turn * memory.turn + index % memory.turn, row


class Reference:
    """A memory that serves bursts in the order in which they are given to it."""

    def __init__(self, memory: Dram) -> None:
        self.memory = memory
        self.time = {
            name: math.ceil(
                Fraction(value * memory.timings.clock_ps * memory.clock_mhz, 1_000_000) * TICKS
            )
            for name, value in vars(memory.timings).items()
            if name not in ("name", "clock_ps")
        }
        self.channels = [Channel(self.time["refi"]) for _ in range(memory.channels)]

    def refresh(self, c: Channel) -> None:
        time = self.time
        ready = [c.due, *(t + time["rp"] for t in c.all("close"))]
        for bank in list(c.open):
            closed = self.may_close(c, bank)
            c.commands.append((closed, "close", bank))
            ready.append(closed + time["rp"])
            del c.open[bank]
        ready += [t + time["rfc"] for t in c.all("refresh")]
        c.commands.append((max(ready), "refresh", -1))
        c.due += time["refi"]

    def may_close(self, c: Channel, bank: int) -> int:
        time = self.time
        return max(
            *(t + time["ras"] for t in c.all("activate", bank=bank)),
            *(t + time["rtp"] for t in c.all("read", bank=bank)),
            *(t + time["cwl"] + time["burst"] + time["wr"] for t in c.all("write", bank=bank)),
            0,
        )

    def needs(self, c: Channel, arrival: int, bank: int, row: int, write: bool):
        """Ticks of the close, activate and column command of a burst, without a refresh."""
        time, groups = self.time, self.memory.bank_groups
        close = activate = None
        if c.open.get(bank) != row:
            window = self.memory.window
            seen = max(arrival, c.columns[-window] if len(c.columns) >= window else 0)
            close = max(seen, self.may_close(c, bank)) if bank in c.open else None
            closes = c.all("close", bank=bank) + ([] if close is None else [close])
            after = [seen]
            after += [t + time["rp"] for t in closes]
            after += [t + time["rfc"] for t in c.all("refresh")]
            for t, name, other in c.commands:
                if name == "activate":
                    same = other % groups == bank % groups
                    after.append(t + (time["rrd_l"] if same else time["rrd_s"]))
                    after.append(t + time["rrd_s"])
            after += [t + time["faw"] for t in sorted(c.all("activate"))[-4:-3]]
            activate = max(after)
        opened = c.all("activate", bank=bank)[-1] if activate is None else activate
        after = [arrival, opened + time["rcd"]]
        for t, name, other in c.commands:
            for length in "sl" if other % groups == bank % groups else "s":
                if name == ("write" if write else "read"):
                    after.append(t + time[f"ccd_{length}"])
                elif name == "read":
                    after.append(t + time["rtw"])
                elif name == "write":
                    after.append(t + time["cwl"] + time["burst"] + time[f"wtr_{length}"])
        return close, activate, max(after)

    def serve(self, arrival: int, burst: int, write: bool) -> int:
        """Serve a burst that arrives at a tick; returns the tick at which its data ends."""
        channel, bank, row = place(self.memory, burst)
        c = self.channels[channel]
        close, activate, column = self.needs(c, arrival, bank, row, write)
        while column >= c.due:
            self.refresh(c)
            close, activate, column = self.needs(c, arrival, bank, row, write)
        if close is not None:
            c.commands.append((close, "close", bank))
        if activate is not None:
            c.commands.append((activate, "activate", bank))
        c.open[bank] = row
        c.commands.append((column, "write" if write else "read", bank))
        c.columns.append(column)
        return column + self.time["cwl" if write else "cl"] + self.time["burst"]


def bursts(memory: Dram, request: Request) -> list[int]:
    """Numbers of the bursts that a tile touches, row by row."""
    size = memory.burst_bytes
    rows = [(request.address + r * request.pitch, request.row_bytes) for r in range(request.rows)]
    if request.pitch == request.row_bytes:
        rows = [(request.address, request.rows * request.row_bytes)]
    return [b for start, n in rows for b in range(start // size, (start + n - 1) // size + 1)]


def answers(memory: Dram, ports: list[list[Request]]) -> list[list[tuple[int, int]]]:
    """By port and tile, the cycles in which all is offered and the last answer is there."""
    per_cycle = memory.requests_per_cycle * memory.request_bytes // memory.burst_bytes
    size = max(CHUNK // per_cycle, 1) * per_cycle
    chunks = []
    offered: list[list[int]] = []
    for p, requests in enumerate(ports):
        cycle = 0
        offered.append([])
        for index, request in enumerate(requests):
            cycle = max(cycle, request.cycle)
            numbers = bursts(memory, request)
            for first in range(0, len(numbers), size):
                part = numbers[first : first + size]
                chunks.append((cycle, p, index, part, request.write))
                cycle += math.ceil(len(part) / per_cycle)
            offered[-1].append(cycle)
    reference = Reference(memory)
    ends = [[0] * len(requests) for requests in ports]
    for cycle, p, index, part, write in sorted(chunks, key=lambda c: c[:3]):
        for n, burst in enumerate(part):
            end = reference.serve((cycle + n // per_cycle) * TICKS, burst, write)
            ends[p][index] = max(ends[p][index], end)
    return [
        [(o, math.ceil(e / TICKS) + memory.latency) for o, e in zip(*both, strict=True)]
        for both in zip(offered, ends, strict=True)
    ]
