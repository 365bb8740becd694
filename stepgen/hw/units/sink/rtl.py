"""An output stream port of the design."""

from amaranth.hdl import Module
from amaranth.lib.wiring import Out

from stepgen.hw.stream import signature
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE


class SinkCore(UnitCore):
    """Passes beats to the port; the run lasts until its ``DONE`` is accepted.

    Members
    -------
    port : ``Out(stream)``
        The port; appears at the top under the unit's name.

    Notes
    -----
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True

    def extra_ports(self):
        return {"port": Out(signature(self.channels["x"]))}

    def elaborate(self, platform):
        m = Module()
        i = self.x
        m.d.comb += [
            self.port.valid.eq(i.valid & self.running),
            self.port.payload.eq(i.payload),
            i.ready.eq(self.port.ready & self.running),
        ]
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(i.valid & i.ready & (i.payload.kind == DONE)):
            m.d.sync += self.finished.eq(1)
        return m
