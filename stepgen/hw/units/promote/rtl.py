"""Adds a dim of extent 1: raises stop levels."""

from amaranth.hdl import Module, Signal

from stepgen.hw.lookahead import Lookahead
from stepgen.hw.stream import payload_shape, send_to_all
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
        i, level = self.x, self.params.level
        # A branch may have the structure alone.
        outputs = [self.channels[port] for port in self.params.outputs]
        widest = max(outputs, key=lambda channel: channel.data_bits)

        if self.params.outermost:
            top = level - 1
            m.submodules.ahead = ahead = Lookahead(widest)
            m.d.comb += [
                ahead.wait.eq((ahead.held.kind != DONE) & (ahead.held.stop == top)),
                ahead.last.eq(ahead.wait & (i.payload.kind == DONE)),
                ahead.last_stop.eq(level),
                ahead.i.valid.eq(i.valid),
                i.ready.eq(ahead.i.ready & i.valid),
                ahead.i.payload.kind.eq(i.payload.kind),
                ahead.i.payload.stop.eq(i.payload.stop),
                ahead.i.payload.data.eq(i.payload.data),
            ]
            fire = send_to_all(m, ahead.o.valid, ahead.o.payload, self.outputs)
            m.d.comb += ahead.o.ready.eq(fire)
            return m

        raised = Signal(payload_shape(widest))
        low = i.payload.data[: len(i.payload.stop)]
        m.d.comb += [
            raised.kind.eq(i.payload.kind),
            raised.data.eq(i.payload.data),
            raised.stop.eq(i.payload.stop + ((i.payload.stop >= level) & (i.payload.kind != DONE))),
        ]
        with m.If((i.payload.kind == BARE) & (low > level)):
            m.d.comb += raised.data[: len(raised.stop)].eq(low + 1)
        m.d.comb += i.ready.eq(send_to_all(m, i.valid, raised, self.outputs))
        return m
