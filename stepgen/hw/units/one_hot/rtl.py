"""Makes one selector of each set bit of a selector."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.onehot import lowest
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class OneHotCore(UnitCore):
    """Sends a selector for each set bit of the one at the head, lowest first (one_hot).

    The last one takes the selector from the input, and its stop; a selector without set bits
    becomes an empty group.

    Parameters
    ----------
    unit.params : bits : int

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', a register per bit, and a prefix tree
    over the bits.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, bits = self.x, self.y, self.params.bits
        chosen = x.payload.data[:bits]
        low = x.payload.data[: len(x.payload.stop)]

        sent, left = Signal(bits), Signal(bits)
        one = Signal(bits)
        value, last, fire = Signal(), Signal(), Signal()
        m.d.comb += [
            left.eq(chosen & ~sent),
            one.eq(lowest(m, left)),
            value.eq(x.payload.kind == VALUE),
            last.eq(~value | ((left & ~one) == 0)),
            fire.eq(x.valid & y.ready),
            x.ready.eq(fire & last),
            y.valid.eq(fire),
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(Mux(last & (x.payload.kind != DONE), x.payload.stop + 1, 0)),
            y.payload.data.eq(one),
        ]
        with m.If(x.payload.kind == BARE):
            m.d.comb += y.payload.data.eq(low + 1)
        with m.Elif(x.payload.kind == DONE):
            m.d.comb += y.payload.data.eq(0)
        with m.Elif(chosen == 0):
            m.d.comb += [y.payload.kind.eq(BARE), y.payload.data.eq(1)]
        with m.If(fire):
            m.d.sync += sent.eq(Mux(last, 0, sent | one))
        return m
