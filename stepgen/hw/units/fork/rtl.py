"""Copies a stream to several consumers."""

from amaranth.hdl import Module, Signal

from stepgen.hw.unit import UnitCore


class ForkCore(UnitCore):
    """Copies each beat to all outputs, in the cycle in which all have room.

    Notes
    -----
    Latency 0 in addition to the FIFOs', one beat per cycle, a few gates.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        i = self.x
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
