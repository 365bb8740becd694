"""Splits a dim of static extent into chunks."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class GroupCore(UnitCore):
    """Counts the items of a dim; every `chunk`-th closes the new dim above it (Reshape).

    Parameters
    ----------
    unit.params : level, chunk : int

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', a counter and a handful of LUTs. A
    group that ends within a chunk raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        level, chunk = self.params.level, self.params.chunk
        stop = x.payload.stop
        low = x.payload.data[: len(stop)]

        ends = x.payload.kind == DONE
        group = (x.payload.kind == BARE) & (low > level)
        closes = Signal()
        fire = Signal()
        count, full = counter(m, fire & closes, chunk)  # items of the chunk so far
        m.d.comb += [
            closes.eq(~ends & ~group & (stop >= level)),
            fire.eq(x.valid & y.ready),
            x.ready.eq(fire),
            y.valid.eq(fire),
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(stop + (group | closes & (full | (stop > level)))),
            y.payload.data.eq(Mux(group, low + 1, x.payload.data)),
        ]
        early = Mux(closes, (stop > level) & ~full, (ends | group) & (count != 0))
        m.d.sync += self.error.eq(fire & early)
        return m
