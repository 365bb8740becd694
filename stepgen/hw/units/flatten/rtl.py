"""Merges adjacent dims into one: rewrites stop levels."""

from amaranth.hdl import Module, Signal

from stepgen.hw.lookahead import Lookahead
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class FlattenCore(UnitCore):
    """Rewrites stop levels so that wire dims `lo` to `hi` become one (Flatten, retile-row).

    Empty groups inside the new dim vanish. Where the stop that one carries must go to the beat
    before it, that beat waits in a holding register (``hold``).

    Parameters
    ----------
    unit.params : lo, hi : int; hold : bool

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs' and a handful of LUTs; with ``hold``
    one cycle and one beat of registers.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        i, o = self.x, self.y
        lo, hi = self.params.lo, self.params.hi
        closed = hi - lo

        def rewrite(level):
            mapped = Signal.like(o.payload.stop)
            with m.If(level > hi):
                m.d.comb += mapped.eq(level - closed)
            with m.Elif(level > lo):
                m.d.comb += mapped.eq(lo)
            with m.Else():
                m.d.comb += mapped.eq(level)
            return mapped

        stop = rewrite(i.payload.stop)
        low = i.payload.data[: len(i.payload.stop)]
        bare = i.payload.kind == BARE
        vanishes = Signal()
        closes = Signal()
        m.d.comb += [
            vanishes.eq(bare & (low > lo) & (low <= hi)),
            closes.eq(i.payload.stop > hi),
        ]

        mapped = Signal(o.payload.shape())
        m.d.comb += [
            mapped.kind.eq(i.payload.kind),
            mapped.stop.eq(stop),
            mapped.data.eq(i.payload.data),
        ]
        with m.If(bare):  # above its level the data of an empty token are 0 already
            with m.If(vanishes):
                m.d.comb += mapped.data[: len(low)].eq(lo + 1)
            with m.Elif(low > hi):
                m.d.comb += mapped.data[: len(low)].eq(low - closed)

        if not self.params.hold:
            fire = Signal()
            m.d.comb += [
                fire.eq(i.valid & (vanishes | o.ready)),
                i.ready.eq(fire),
                o.valid.eq(fire & ~vanishes),
                o.payload.eq(mapped),
            ]
            return m

        m.submodules.ahead = ahead = Lookahead(self.channels["y"])
        absorbed = Signal()  # vanishes; if it closes groups, the beat held gets its stop
        m.d.comb += [
            ahead.wait.eq((ahead.held.kind != DONE) & (ahead.held.stop == lo)),
            absorbed.eq(vanishes & ahead.held_valid & ahead.wait),
            ahead.i.payload.eq(mapped),
            ahead.i.valid.eq(i.valid & (~vanishes | closes & ~absorbed)),
            i.ready.eq(i.valid & (absorbed | ahead.i.ready)),
            ahead.restop.eq(i.valid & absorbed & closes),
            ahead.restop_level.eq(stop),
            o.valid.eq(ahead.o.valid),
            o.payload.eq(ahead.o.payload),
            ahead.o.ready.eq(o.ready),
        ]
        return m
