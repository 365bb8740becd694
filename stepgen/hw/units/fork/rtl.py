"""Copies a stream to several consumers."""

from amaranth.hdl import Module, Mux, Signal

from ....ir.wire import BARE
from ...unit import UnitCore


class ForkCore(UnitCore):
    """Copies each beat to all outputs, in the cycle in which all have room.

    An output whose channel has no lanes receives the structure only.

    Notes
    -----
    Latency 0 in addition to the FIFOs', one beat per cycle, a few gates.
    """

    def elaborate(self, platform):
        m = Module()
        i = self.x
        fire = Signal()
        every = i.valid
        for o in self.outputs:
            every = every & o.ready
        m.d.comb += [fire.eq(every), i.ready.eq(fire)]
        for port, o in zip(self.unit.outputs, self.outputs, strict=True):
            data = i.payload.data
            if self.channels[port].lanes == 0:
                data = Mux(i.payload.kind == BARE, data, 0)
            m.d.comb += [
                o.valid.eq(fire),
                o.payload.kind.eq(i.payload.kind),
                o.payload.stop.eq(i.payload.stop),
                o.payload.data.eq(data),
            ]
        return m
