"""Adds a dim of extent 1: raises stop levels."""

from amaranth.hdl import Module, Signal

from stepgen.hw.lookahead import Lookahead
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class PromoteCore(UnitCore):
    """Inserts a dim at wire level `level` (Promote): stops from there on rise by one.

    With ``outermost`` the stream becomes one group, so the last beat waits in a holding register
    until ``DONE`` arrives; an empty stream stays empty.

    Parameters
    ----------
    unit.params : level : int; outermost : bool

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs' and a handful of LUTs; outermost one
    cycle and one beat of registers.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        i, o, level = self.x, self.y, self.params.level

        if self.params.outermost:
            top = level - 1
            m.submodules.ahead = ahead = Lookahead(self.channels["y"])
            m.d.comb += [
                ahead.wait.eq((ahead.held.kind != DONE) & (ahead.held.stop == top)),
                ahead.last.eq(ahead.wait & (i.payload.kind == DONE)),
                ahead.last_stop.eq(level),
                ahead.i.valid.eq(i.valid),
                i.ready.eq(ahead.i.ready & i.valid),
                ahead.i.payload.kind.eq(i.payload.kind),
                ahead.i.payload.stop.eq(i.payload.stop),
                ahead.i.payload.data.eq(i.payload.data),
                o.valid.eq(ahead.o.valid),
                o.payload.eq(ahead.o.payload),
                ahead.o.ready.eq(o.ready),
            ]
            return m

        fire = Signal()
        low = i.payload.data[: len(i.payload.stop)]
        m.d.comb += [
            fire.eq(i.valid & o.ready),
            i.ready.eq(fire),
            o.valid.eq(fire),
            o.payload.kind.eq(i.payload.kind),
            o.payload.data.eq(i.payload.data),
            o.payload.stop.eq(
                i.payload.stop + ((i.payload.stop >= level) & (i.payload.kind != DONE))
            ),
        ]
        with m.If((i.payload.kind == BARE) & (low > level)):
            m.d.comb += o.payload.data[: len(o.payload.stop)].eq(low + 1)
        return m
