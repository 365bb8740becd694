"""Routes each chunk of a stream to the outputs that its selector names."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.primitives import delayed
from stepgen.hw.stream import is_done
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, VALUE


class PartitionCore(UnitCore):
    """Sends each chunk to every output whose bit is set in the chunk's selector (Partition).

    A beat moves in the cycle in which all outputs that it goes to have space; the last beat of a
    chunk consumes the selector. Without any bit set, the chunk is dropped. The done beat of x is
    passed on at once, so that loops end; the run lasts until that of the selectors is consumed.

    Parameters
    ----------
    unit.params : Partition

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', which with more than `NEAR` outputs get
    the payload a cycle later: so their counters of free places can be near the unit while their
    memories are near who reads them. Per output an AND of space and mask in a balanced tree. A
    stream and a selector of different structure
    raise ``error`` and the unit stops; so do selectors that are left, unless `surplus` allows them.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True

    def elaborate(self, platform):
        m = Module()
        x, sel, level = self.x, self.sel, self.params.level

        stop = x.payload.stop
        low = x.payload.data[: len(stop)]
        ends = is_done(x.payload)
        above = Signal()  # an empty group of chunks: the selector has an empty group as well
        closes = Signal()
        m.d.comb += [
            above.eq((x.payload.kind == BARE) & (low > level)),
            closes.eq(stop >= level),
        ]

        together = Signal()
        m.d.comb += together.eq(sel.payload.kind == Mux(above, BARE, VALUE))
        same_stop = stop == sel.payload.stop + level
        same_low = ~above | (low == sel.payload.data[: len(sel.payload.stop)] + level)
        wrong = ~together | closes & ~(same_stop & same_low)

        ended = Signal()  # x has ended, the selectors have not
        last = ended & sel.valid & is_done(sel.payload)
        left = ended & sel.valid & ~is_done(sel.payload)
        surplus = self.params.surplus
        ys = [getattr(self, port) for port in self.params.ys]
        to = Signal(len(ys))
        fire, room, goes = Signal(), Signal(), Signal()
        with m.If(ends):
            m.d.comb += to.eq(-1)
        with m.Elif(~above):
            m.d.comb += to.eq(sel.payload.data)
        full = Cat(~o.ready for o in ys)
        kept, settled = self._shares(m, fire)
        m.d.comb += [
            room.eq(~(sel.payload.data & full).any()),
            goes.eq(Mux(above, sel.payload.kind == BARE, (sel.payload.kind == VALUE) & room)),
            fire.eq(x.valid & ~ended & settled & Mux(ends, ~full.any(), sel.valid & goes)),
            x.ready.eq(fire),
            sel.ready.eq(fire & closes & ~ends | last | (left if surplus else 0)),
        ]
        m.d.sync += self.error.eq(
            Mux(ended, 0 if surplus else left, x.valid & sel.valid & ~ends & (wrong | ~kept))
        )
        with m.If(fire & ends):
            m.d.sync += ended.eq(1)
        with m.Elif(last):
            m.d.sync += ended.eq(0)
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(last):
            m.d.sync += self.finished.eq(1)
        sent = x.payload.kind, Mux(stop >= level, level, stop), x.payload.data
        late = self.params.delay(self.design.lanes)
        kind, stop, data = (delayed(m, field, late, reset_less=True) for field in sent)
        for bit, o in zip(to, ys, strict=True):
            m.d.comb += [
                o.valid.eq(fire & bit),
                o.payload.kind.eq(kind),
                o.payload.stop.eq(stop),
                o.payload.data.eq(data),
            ]
        return m

    def _shares(self, m, fire):
        """Give back what the outputs chosen lack of a reference.

        Returns
        -------
        kept : Value
            The selector names no more outputs than it may.
        settled : Value
            It does, and there is room.
        """
        params, x = self.params, self.x
        if not params.shares:
            return Const(1), Const(1)
        bits = zip(self.sel.payload.data[: len(params.shares)], params.shares, strict=True)
        terms = [Mux(bit, share, 0) for bit, share in bits]
        while len(terms) > 1:
            terms = [sum(terms[k : k + 2]) for k in range(0, len(terms), 2)]
        (taken,) = terms
        lacks, some, kept = Signal(params.share_bits), Signal(), Signal()
        refers = x.payload.kind == VALUE
        m.d.comb += [
            lacks.eq(params.given - taken),
            kept.eq(~refers | (taken <= params.given if params.rests else taken == params.given)),
            some.eq(refers & (taken != params.given)),
        ]
        if not params.rests:
            return kept, kept
        m.d.comb += [
            self.rest.valid.eq(fire & some),
            self.rest.payload.eq(Cat(x.payload.data[: self.channels["x"].bits], lacks)),
        ]
        return kept, kept & (~some | self.rest.ready)
