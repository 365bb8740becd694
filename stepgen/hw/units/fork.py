"""One stream to several consumers."""

from amaranth.hdl import Module, Signal

from ..unit import UnitCore


class Core(UnitCore):
    """Copies each beat to all outputs, in the cycle in which all have room.

    An output whose channel has no lanes receives the structure alone.

    Notes
    -----
    Latency 0 beside the FIFOs', one beat per cycle, a few gates.
    """

    def elaborate(self, platform):
        m = Module()
        (i,) = self.inputs
        fire = Signal()
        every = i.valid
        for o in self.outputs:
            every = every & o.ready
        m.d.comb += [fire.eq(every), i.ready.eq(fire)]
        for o in self.outputs:
            m.d.comb += [
                o.valid.eq(fire),
                o.payload.kind.eq(i.payload.kind),
                o.payload.stop.eq(i.payload.stop),
                o.payload.data.eq(i.payload.data),
            ]
        return m
