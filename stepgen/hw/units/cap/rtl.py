"""Splits the innermost dim into chunks, of which the last of a group may be shorter."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.lookahead import Lookahead
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class CapCore(UnitCore):
    """Counts elements; every `chunk`-th one and the last of a group close a chunk (Reshape).

    Without a dim above, an element that may be the last waits in a holding register until the next
    beat arrives.

    Parameters
    ----------
    unit.params : level, chunk : int; outermost : bool

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', a counter and a handful of LUTs;
    outermost one cycle and one beat of registers.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, level, chunk = self.x, self.params.level, self.params.chunk
        stop = x.payload.stop
        low = x.payload.data[: len(stop)]
        taken, element, group, full = Signal(), Signal(), Signal(), Signal(init=chunk == 1)
        count = Signal(range(chunk))
        m.d.comb += [
            group.eq((x.payload.kind == BARE) & (low > level)),
            element.eq((x.payload.kind != DONE) & ~group & (stop >= level)),
        ]
        closes = element & (full | (stop > level))
        ends = closes | (x.payload.kind == DONE)
        with m.If(taken & (element | ends)):
            m.d.sync += [
                count.eq(Mux(ends, 0, count + 1)),
                full.eq(Mux(ends, chunk == 1, count == chunk - 2)),
            ]
        out = self._ahead(m) if self.params.outermost else self.y
        m.d.comb += [
            taken.eq(x.valid & out.ready),
            x.ready.eq(taken),
            out.valid.eq(x.valid),
            out.payload.kind.eq(x.payload.kind),
            out.payload.stop.eq(stop + (closes | group)),
            out.payload.data.eq(Mux(group, low + 1, x.payload.data)),
        ]
        return m

    def _ahead(self, m):
        """The tail of a holding register in front of ``y``."""
        x, y, level = self.x, self.y, self.params.level
        m.submodules.ahead = ahead = Lookahead(self.channels["y"])
        m.d.comb += [
            ahead.wait.eq((ahead.held.kind != DONE) & (ahead.held.stop == level)),
            ahead.last.eq(ahead.wait & (x.payload.kind == DONE)),
            ahead.last_stop.eq(level + 1),
            y.valid.eq(ahead.o.valid),
            y.payload.eq(ahead.o.payload),
            ahead.o.ready.eq(y.ready),
        ]
        return ahead.i
