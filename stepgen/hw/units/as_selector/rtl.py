"""Makes selectors of rows of flags."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class AsSelectorCore(UnitCore):
    """Map of as_selector.

    Keeps the flags of a row until the last beat of it is there.

    Parameters
    ----------
    unit.params : AsSelector

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', and a register for each flag in front
    of the last beat of a row. A tile without rows, of several, or with rows of another number of
    beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        lanes = self.design.lanes
        slices = params.slices(lanes)
        kind, stop = x.payload.kind, x.payload.stop
        low = x.payload.data[: len(stop)]

        value, fire = Signal(), Signal()
        at, last = counter(m, fire & value, slices)
        m.d.comb += [
            value.eq(kind == VALUE),
            fire.eq(x.valid & (y.ready | (value & ~last))),
            x.ready.eq(fire),
            y.valid.eq(fire & (~value | last)),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(kind == DONE, 0, stop - TILE_LEVELS)[: len(y.payload.stop)]),
        ]
        kept = Signal((slices - 1) * lanes, reset_less=True)
        with m.If(fire & value & ~last):
            m.d.sync += kept.word_select(at, lanes).eq(x.payload.data)
        flags = Cat(kept, x.payload.data)[: params.columns]
        with m.If(value):
            m.d.comb += y.payload.data.eq(Cat(flags, ~flags.any()) if params.otherwise else flags)
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(low - TILE_LEVELS)
        strange = value & ((stop >= TILE_LEVELS) != last)
        m.d.sync += self.error.eq(fire & (strange | ((kind == BARE) & (low <= TILE_LEVELS))))
        return m
