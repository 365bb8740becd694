"""Passes a chunk on when all of it has arrived."""

from amaranth.hdl import Module, Signal

from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import stepped
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import DONE


class StoreForwardCore(UnitCore):
    """A FIFO that a chunk leaves when its last beat is in it (store and forward).

    Parameters
    ----------
    unit.params : level, largest : int

    Notes
    -----
    One beat per cycle, across chunks as well. Latency 0 in addition to that of the FIFO, from a
    chunk's last beat on. Cost: the FIFO and a counter of complete chunks. A chunk that fills the
    FIFO before its end raises ``error`` and stops the unit.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        (queue,) = self.params.queues(self.unit, self.design)
        m.submodules.stored = stored = Fifo(queue)

        def ends(payload):
            return (payload.kind == DONE) | (payload.stop >= self.params.level)

        complete = Signal(range(queue.depth + 1))
        some = Signal()  # complete != 0
        enter, leave, more, less = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            enter.eq(x.valid & stored.w.ready),
            leave.eq(stored.r.valid & y.ready & some),
            more.eq(enter & ends(x.payload)),
            less.eq(leave & ends(stored.r.payload)),
            x.ready.eq(enter),
            stored.w.valid.eq(enter),
            stored.w.payload.kind.eq(x.payload.kind),
            stored.w.payload.stop.eq(x.payload.stop),
            stored.w.payload.data.eq(x.payload.data),
            stored.r.ready.eq(leave),
            y.valid.eq(leave),
            y.payload.eq(stored.r.payload),
        ]
        with m.If(more != less):
            m.d.sync += [
                complete.eq(stepped(complete, back=less)),
                some.eq(more | (complete != 1)),
            ]
        m.d.sync += self.error.eq(x.valid & ~stored.w.ready & ~some)
        return m
