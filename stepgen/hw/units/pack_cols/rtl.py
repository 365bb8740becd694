"""Closes the gaps in rows that are made of parts."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, VALUE


class PackColsCore(UnitCore):
    """Joins the parts of a row behind the memory of retile_col, for columns of any number.

    A beat is held until later ones of its row have filled it. An arriving beat is shifted to the
    first free lane; what goes beyond the last one is held in turn.

    Parameters
    ----------
    unit.params : PackCols

    Notes
    -----
    One beat per cycle is taken. Latency 2 in addition to the FIFOs'. Cost: two beats of registers
    and a shifter of two beats. A row of another number of beats raises ``error``.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params, lanes = self.x, self.y, self.params, self.design.lanes
        bits, slices = params.bits, params.slices(lanes)
        held = Signal.like(x.payload)
        valid, filled = Signal(), Signal(range(lanes + 1))

        takes, arrives = Signal(), Signal()
        _, part_ends = counter(m, arrives, slices)
        _, row_ends = counter(m, arrives & part_ends, params.parts_of_row)
        ends = part_ends & row_ends
        m.d.sync += self.error.eq(arrives & ((x.payload.stop != 0) != ends))

        waits, over = Signal(), Signal()
        count = Mux(part_ends, params.tail(lanes), lanes)
        total = Signal(range(2 * lanes + 1))
        m.d.comb += [
            waits.eq(valid & (held.kind == VALUE) & (held.stop == 0)),
            total.eq(filled + count),
            over.eq(total > lanes),
            y.valid.eq(valid & (~waits | x.valid & over)),
            x.ready.eq(~valid | y.ready | waits & ~over),
            takes.eq(x.valid & x.ready),
            arrives.eq(takes & (x.payload.kind == VALUE)),
        ]

        whole, gap = lanes * bits, (lanes - params.tail(lanes)) * bits
        beat = x.payload.data[:whole]
        beat = Mux(part_ends, Cat(beat[: whole - gap], Const(0, gap)), beat)
        joined = self._shifted(m, beat, filled) | held.data[:whole]
        kept = Signal(whole)
        m.d.comb += kept.eq(Mux(waits, Mux(over, joined[whole:], joined[:whole]), beat))
        with m.If(takes | y.valid & y.ready):
            m.d.sync += valid.eq(x.valid)
        with m.If(takes):
            m.d.sync += held.eq(x.payload)
            with m.If(x.payload.kind == VALUE):
                m.d.sync += [
                    held.data.eq(kept),
                    filled.eq(Mux(waits, Mux(over, total - lanes, total), count)),
                ]

        low = held.data[: len(held.stop)]
        data = Mux(held.kind == BARE, low, Mux(waits, joined[:whole], held.data))
        stop = Mux(waits, 0, held.stop)
        for given, late in ((held.kind, y.payload.kind), (stop, y.payload.stop)):
            m.d.comb += late.eq(delayed(m, given, 1, reset_less=True))
        m.d.comb += y.payload.data.eq(delayed(m, data, 1, reset_less=True))
        return m

    def _shifted(self, m, beat, lanes_up):
        """A beat shifted up by a number of lanes, twice as wide."""
        most = 2 * len(beat)
        for n, moves in enumerate(lanes_up):
            by = self.params.bits << n
            shifted = Signal(min(most, len(beat) + by), name=f"shifted_{n}")
            m.d.comb += shifted.eq(Mux(moves, beat << by, beat))
            beat = shifted
        return beat
