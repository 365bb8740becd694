"""The logic that starts and ends a run, and collects what units and channels report."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.registers import WORD
from stepgen.hw.design.stages import RESET_LAG
from stepgen.hw.primitives import resets

__all__ = ["CYCLE_BITS", "DETAIL_BITS", "RunControl"]

CYCLE_BITS = 48
DETAIL_BITS = 8 * WORD


class RunControl(wiring.Component):
    """Starts, aborts and ends runs.

    Parameters
    ----------
    units, channels : int
    finishing : int
        Units that end a run.
    reporting : sequence of int
        Units that report the cause of an error, by their numbers from 0.
    counted : sequence of int
        Channels that are counted, by their numbers from 0.
    resets : int
        Registers of the soft reset, where each is near some parts.

    Members
    -------
    start, stop : ``In(1)``
    running, stopping, done, error, detail, cycle : ``Out``
    moves_in, moves_out, busy, starved, full : ``Out``
        As for `Accelerator`.
    active : ``Out(1)``
        High while units may work: in a run that is not aborted.
    resets : ``Out``
        Resets of parts.
    w_valid, w_ready, r_valid, r_ready : ``In(channels)``
        At the tails and heads of FIFOs.
    finished, errors, under_way : ``In``
        From units, see `UnitCore`.
    details : ``In(32 reporting)``
        Their `detail`.
    """

    def __init__(self, units: int, channels: int, finishing: int, reporting, counted, resets: int):
        self.reporting, self.counted = reporting, counted
        details = DETAIL_BITS * len(reporting)
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **dict.fromkeys(("w_valid", "w_ready", "r_valid", "r_ready"), In(channels)),
                "finished": In(finishing),
                **dict.fromkeys(("errors", "under_way"), In(units)),
                "details": In(details),
                **dict.fromkeys(("running", "stopping", "done", "active"), Out(1)),
                "resets": Out(resets),
                "error": Out(units),
                "detail": Out(details),
                "cycle": Out(CYCLE_BITS),
                **dict.fromkeys(("moves_in", "moves_out"), Out(channels)),
                **dict.fromkeys(("busy", "starved", "full"), Out(len(counted))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        ends, clean, starts = Signal(), Signal(), Signal()
        clear = Signal(1 + RESET_LAG)  # at last the parts are reset
        reset = resets(m, platform, clear[0])
        m.d.comb += [
            self.resets.eq(Cat(next(reset) for _ in self.resets)),
            self.moves_in.eq(self.w_valid & self.w_ready),
            self.moves_out.eq(self.r_valid & self.r_ready),
            self.busy.eq(Cat(self.moves_out[channel] for channel in self.counted)),
            self.starved.eq(~Cat(self.r_valid[channel] for channel in self.counted)),
            self.full.eq(~Cat(self.w_ready[channel] for channel in self.counted)),
            ends.eq(self.finished.all()),
            clean.eq(~self.under_way.any()),
        ]
        for place, unit in enumerate(self.reporting):
            with m.If(self.errors[unit]):
                m.d.sync += _part(self.detail, place).eq(_part(self.details, place))
        m.d.comb += starts.eq(self.start & ~(self.running | self.stop | self.stopping | clear[-1]))
        m.d.sync += [
            clear.eq(Cat(self.stopping & clean & ~clear.any(), clear)),
            self.error.eq(self.error | self.errors),
        ]
        with m.If(self.running):
            m.d.sync += self.cycle.eq(self.cycle + 1)
        with m.If(clear[-1]):
            m.d.sync += self.stopping.eq(0)
        with m.Elif(self.stopping), m.If(clean):
            m.d.sync += self.running.eq(0)
        with m.Elif(self.stop):
            m.d.sync += [self.stopping.eq(1), self.active.eq(0), self.done.eq(0)]
        with m.Elif(self.running), m.If(ends):
            m.d.sync += [self.running.eq(0), self.active.eq(0), self.done.eq(1)]
        with m.If(starts):
            m.d.sync += [self.running.eq(1), self.active.eq(1), self.done.eq(0)]
            # Not one of several branches: these zeros are resets, and take no LUT for each bit.
            m.d.sync += [self.cycle.eq(0), self.error.eq(0)]
        return m


def _part(details, place):
    return details.word_select(place, DETAIL_BITS)
