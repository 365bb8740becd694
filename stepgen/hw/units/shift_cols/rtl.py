"""Moves the columns of a tile to the right."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class ShiftColsCore(UnitCore):
    """Map of shift_cols.

    The last elements that entered are kept as long as a later beat of their row needs them.

    Parameters
    ----------
    unit.params : ShiftCols

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'. Cost: registers for the elements by
    which columns move. A row of another number of beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x.payload, self.y.payload, self.params
        is_value = x.kind == VALUE
        fire = Signal()
        _, last = counter(m, fire & is_value, params.slices)

        beat = self.design.lanes * params.bits
        width = min(params.by * params.bits, params.slices * beat)
        new = sum(params.fill << at for at in range(0, width, params.bits))
        kept = Signal(width, init=new)  # what comes next, the first elements lowest
        values = Cat(kept, x.data[:beat])
        with m.If(fire & is_value):
            m.d.sync += kept.eq(Mux(last, new, values[beat:]))
        m.d.comb += [
            fire.eq(self.x.valid & self.y.ready),
            self.x.ready.eq(fire),
            self.y.valid.eq(fire),
            y.kind.eq(x.kind),
            y.stop.eq(x.stop),
            y.data.eq(Mux(is_value, values[:beat], x.data[: len(x.stop)])),
        ]
        m.d.sync += self.error.eq(fire & is_value & ((x.stop != 0) != last))
        return m
