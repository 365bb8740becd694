"""Consumes an unused stream."""

from amaranth.hdl import Module

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE


class DiscardCore(UnitCore):
    """Accepts a beat in every cycle; the run lasts until its ``DONE``.

    Notes
    -----
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.x.ready.eq(1)
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(self.x.valid & (self.x.payload.kind == DONE)):
            m.d.sync += self.finished.eq(1)
        return m
