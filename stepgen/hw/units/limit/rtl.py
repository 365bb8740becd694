"""Passes tiles on, up to the first one that is too large."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.design.registers import NUMBER_BITS, TOO_LARGE
from stepgen.hw.detail import detail_word
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class LimitCore(UnitCore):
    """In front of a memory for tiles of at most so many rows or columns.

    A tile that has more is taken to its end, with the number so far as ``detail``, and nothing
    comes behind it.

    Parameters
    ----------
    unit.params : Limit

    Notes
    -----
    A beat per cycle.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    details = True

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        stop, is_value = x.payload.stop, x.payload.kind == VALUE
        ends, closes = stop >= params.level, stop > params.level
        number = Signal(params.counted_bits)
        following = number + ends
        full, within, over, takes, fire = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            takes.eq(full & ~over & x.valid),
            fire.eq(x.valid & y.ready & ~full),
            x.ready.eq(fire | takes),
            y.valid.eq(fire),
            y.payload.eq(x.payload),
            self.detail.eq(
                detail_word(TOO_LARGE, Mux(number.all(), ~Const(0, NUMBER_BITS), number))
            ),
        ]
        with m.If(fire & is_value):
            m.d.sync += [
                number.eq(Mux(closes, 0, following)),
                full.eq(~closes & (following == params.most)),
            ]
        with m.If(takes):
            m.d.sync += [
                number.eq(number + (~within & ~number.all())),
                within.eq(~ends),
                over.eq(closes),
            ]
        m.d.sync += self.error.eq(takes)
        return m
