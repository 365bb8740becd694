"""An input stream port of the design."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In

from stepgen.hw.stream import signature
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE


class SourceCore(UnitCore):
    """Accepts the beats of a run: from its start up to the ``DONE`` of the stream.

    Beats that are offered before or after it are stalled until the next start.

    Members
    -------
    port : ``In(stream)``
        The port; appears at the top under the unit's name.

    Notes
    -----
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def extra_ports(self):
        return {"port": In(signature(self.channels["y"]))}

    def elaborate(self, platform):
        m = Module()
        o = self.y
        closed, is_open = Signal(), Signal()
        m.d.comb += [
            is_open.eq(self.running & ~closed),
            o.valid.eq(self.port.valid & is_open),
            o.payload.eq(self.port.payload),
            self.port.ready.eq(o.ready & is_open),
        ]
        with m.If(~self.running):
            m.d.sync += closed.eq(0)
        with m.Elif(o.valid & o.ready & (o.payload.kind == DONE)):
            m.d.sync += closed.eq(1)
        return m
