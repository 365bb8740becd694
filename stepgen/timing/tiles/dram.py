"""Off-chip memory as DRAM: channels with banks, open rows, refresh and turnaround of the bus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.timing.kernel import packed
from stepgen.timing.layout import Layout
from stepgen.timing.tiles import dram_steps as d
from stepgen.timing.tiles import positive
from stepgen.timing.tiles.dram_timings import DDR4_3200, HBM2_2000, Timings
from stepgen.timing.tiles.ports import KIND_DRAM


@dataclass(frozen=True)
class Dram:
    """DRAM channels and their address mapping.

    `interleave` consecutive bytes are in one channel, the next ones in the next channel. Within a
    channel consecutive bursts alternate between `turn` bank groups until a row of each is used up;
    then follows the next set of banks, and after the last set the next row. The first channel and
    the first set are hashed, to avoid conflicts between tiles at round addresses. `dram_steps`
    has the timing of bursts.

    Parameters
    ----------
    timings : Timings
        Minimum times between commands.
    clock_mhz : int
        Clock of the machine, whose cycles are counted.
    channels, bank_groups, banks : int
        Channels, bank groups of each, and banks of each group.
    row_bytes, burst_bytes : int
        Bytes of a row of one bank, and bytes that a column command moves.
    interleave : int
        Consecutive bytes in one channel.
    turn : int
        Bank groups that consecutive bursts of a channel alternate between.
    window : int
        A row may be opened for a burst with fewer than `window` bursts of its channel before it.
    latency_ps : int
        Round-trip time between an operator and the DRAM commands.
    request_bytes : int
        Bytes of one request of an operator.
    requests_per_cycle : int
        Requests that an operator issues per cycle.

    Raises
    ------
    StepError
        If a number is not positive, or does not divide another as required.
    """

    timings: Timings
    clock_mhz: int
    channels: int
    bank_groups: int = 4
    banks: int = 4
    row_bytes: int = 2048
    burst_bytes: int = 64
    interleave: int = 512
    turn: int = 2
    window: int = 16
    latency_ps: int = 20_000
    request_bytes: int = 64
    requests_per_cycle: int = 16

    def __post_init__(self) -> None:
        positive.check("DRAM", positive.integers(self))
        for larger, part in (
            ("row_bytes", "burst_bytes"),
            ("interleave", "burst_bytes"),
            ("request_bytes", "burst_bytes"),
            ("bank_groups", "turn"),
        ):
            if getattr(self, larger) % getattr(self, part):
                raise StepError(
                    f"DRAM: {part} of {getattr(self, part)} does not divide {larger} of "
                    f"{getattr(self, larger)}"
                )
        if self.turn * self.row_bytes % self.interleave:
            raise StepError(
                f"DRAM: an interleave of {self.interleave} bytes does not divide the "
                f"{self.turn * self.row_bytes} bytes of the rows that bursts alternate between"
            )

    def ticks(self, clocks: int) -> int:
        """Ticks of a number of memory clocks, rounded up."""
        return -(-clocks * self.timings.clock_ps * self.clock_mhz * d.TICKS // 1_000_000)

    @property
    def latency(self) -> int:
        """Round-trip cycles between an operator and the DRAM commands."""
        return -(-self.latency_ps * self.clock_mhz // 1_000_000)

    @property
    def peak(self) -> float:
        """Bytes per cycle with all data buses busy."""
        return self.channels * self.burst_bytes * d.TICKS / self.ticks(self.timings.ccd_s)

    def lay_out(self, layout: Layout) -> int:
        """Place the record of the memory in the state array and return its address."""
        banks = self.bank_groups * self.banks
        first_bank = d.CHANNEL.groups + len(d.GROUP) * self.bank_groups
        rings = first_bank + len(d.BANK) * banks
        size = rings + d.ACTIVATES + self.window
        channels = np.zeros((self.channels, size), dtype=np.int64)
        # All refresh at the same time: a tile is in all channels, and would wait for each in turn.
        channels[:, d.CHANNEL.refresh] = self.ticks(self.timings.refi)
        channels[:, first_bank + d.BANK.row : rings : len(d.BANK)] = d.NO_ROW
        channels[:, rings:] = d.LONG_AGO
        own = packed(
            d.D,
            kind=KIND_DRAM,
            channels=self.channels,
            first=layout.reserve(channels.reshape(-1)),
            channel_size=size,
            burst_bytes=self.burst_bytes,
            bursts=self.request_bytes // self.burst_bytes,
            latency=self.latency,
            interleave=self.interleave // self.burst_bytes,
            turn=self.turn,
            block=self.turn * self.row_bytes // self.burst_bytes,
            sets=banks // self.turn,
            groups=self.bank_groups,
            banks=banks,
            window=self.window,
            **{name: self.ticks(getattr(self.timings, name)) for name in d.TIMES},
        )
        return layout.reserve(own)

    def port(self, layout: Layout, memory: int, *, write: bool = False) -> int:
        """Place the record of an operator's port in the state array and return its address."""
        blank = dict.fromkeys(d.P._fields, 0)
        own = packed(d.P, **{**blank, "model": memory, "rate": self.requests_per_cycle})
        return layout.reserve(own)


HBM2 = Dram(HBM2_2000, clock_mhz=2000, channels=64)
"""Eight stacks of HBM2 at 1024 B per cycle of a machine at 2 GHz, the peak of the paper's machine.

A stack has eight channels of 128 bits. Each half of a burst is in one of the channel's two
pseudo-channels, so these are modelled as one channel, with rows of 2 x 1 KiB."""

DDR4 = Dram(DDR4_3200, clock_mhz=2000, channels=2, row_bytes=8192)
"""Two channels of DDR4-3200, eight parts of 8 bits each, for the same machine: 25.6 B per cycle."""
