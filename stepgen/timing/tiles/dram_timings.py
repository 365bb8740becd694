"""Timing sets of DRAM parts, in memory clocks as in data sheets."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.errors import StepError
from stepgen.timing.tiles import positive


@dataclass(frozen=True)
class Timings:
    """Minimum times between commands, in memory clocks.

    Parameters
    ----------
    name : str
        Name of the set.
    clock_ps : int
        Length of a clock in picoseconds.
    burst : int
        Clocks that the data of one column command occupies the bus.
    cl, cwl : int
        From a read or write command to the first of its data.
    rcd, rp, ras : int
        Activate to column command, precharge to activate, activate to precharge.
    ccd_s, ccd_l : int
        Between two column commands, to different bank groups and to the same.
    rrd_s, rrd_l, faw : int
        Between two activates, to different bank groups and to the same; and the window in which
        there are at most four.
    wr, rtp : int
        From the end of written data, and from a read command, to a precharge.
    wtr_s, wtr_l : int
        From the end of written data to a read command, to different bank groups and to the same.
    rtw : int
        From a read command to a write command.
    refi, rfc : int
        Between two refreshes, and how long one takes.

    Raises
    ------
    StepError
        If a time is below 1, data would overlap, or refreshes leave no time for anything else.
    """

    name: str
    clock_ps: int
    burst: int
    cl: int
    cwl: int
    rcd: int
    rp: int
    ras: int
    ccd_s: int
    ccd_l: int
    rrd_s: int
    rrd_l: int
    faw: int
    wr: int
    rtp: int
    wtr_s: int
    wtr_l: int
    rtw: int
    refi: int
    rfc: int

    def __post_init__(self) -> None:
        positive.check(f"timing set {self.name}", positive.integers(self))
        if self.burst > min(self.ccd_s, self.ccd_l) or self.cl + self.burst > self.cwl + self.rtw:
            raise StepError(
                f"timing set {self.name}: ccd_s {self.ccd_s}, ccd_l {self.ccd_l} or rtw {self.rtw} "
                f"lets the data of two bursts overlap, each of {self.burst} clocks"
            )
        close = self.ras + self.cwl + self.burst + self.wr + self.rp
        if self.refi <= self.rfc + close:
            raise StepError(
                f"timing set {self.name}: a refresh every {self.refi} clocks leaves no time, as it "
                f"takes {self.rfc} and up to {close} to close the banks"
            )


HBM2_2000 = Timings(
    "HBM2-2000",
    clock_ps=1000,
    burst=2,
    cl=14,
    cwl=4,
    rcd=14,
    rp=14,
    ras=34,
    ccd_s=2,
    ccd_l=4,
    rrd_s=4,
    rrd_l=6,
    faw=16,
    wr=16,
    rtp=5,
    wtr_s=4,
    wtr_l=8,
    rtw=14,
    refi=3900,
    rfc=260,
)
"""HBM2 at 2.0 Gb/s per pin, bursts of four: organisation and refresh as in JESD235, latencies as in
the configurations that public DRAM simulators distribute for such parts."""

DDR4_3200 = Timings(
    "DDR4-3200",
    clock_ps=625,
    burst=4,
    cl=22,
    cwl=16,
    rcd=22,
    rp=22,
    ras=52,
    ccd_s=4,
    ccd_l=8,
    rrd_s=4,
    rrd_l=8,
    faw=34,
    wr=24,
    rtp=12,
    wtr_s=4,
    wtr_l=12,
    rtw=12,
    refi=12480,
    rfc=560,
)
"""DDR4-3200AA (22-22-22), 8 Gb parts of 8 bits, bursts of eight; from public DRAM simulators."""
