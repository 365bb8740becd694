"""Two beats between a channel and a unit that is large, or whose decisions take long."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.table import Channel
from stepgen.hw.stream import signature

__all__ = ["Pair"]


class Pair(wiring.Component):
    """A FIFO of depth 2 and latency 1 whose data stay where they were written.

    What takes a beat switches a few registers of structure and a multiplexer. In a FIFO it would
    enable all registers of the head, wherever in a large unit their data are needed.

    Parameters
    ----------
    channel : Channel
        Of the beats.

    Members
    -------
    i : ``In(stream)``
        From the channel; ``ready`` is a register.
    o : ``Out(stream)``
        The head; all but the data come from registers.
    """

    def __init__(self, channel: Channel):
        super().__init__({"i": In(signature(channel)), "o": Out(signature(channel))})

    def elaborate(self, platform):
        m = Module()
        beat, head = self.i.payload, self.o.payload
        second, waits = Signal.like(beat, reset_less=True), Signal()
        push, pop, loads = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~waits),
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
            loads.eq(pop | ~self.o.valid),
        ]
        m.d.sync += waits.eq(~loads & (waits | push))
        with m.If(loads):
            m.d.sync += [
                self.o.valid.eq(waits | push),
                head.kind.eq(Mux(waits, second.kind, beat.kind)),
                head.stop.eq(Mux(waits, second.stop, beat.stop)),
            ]
        with m.If(self.i.ready):
            m.d.sync += [second.kind.eq(beat.kind), second.stop.eq(beat.stop)]

        put, take = Signal(), Signal()
        places = [Signal.like(beat.data, reset_less=True, name=f"data_{k}") for k in range(2)]
        with m.If(push):
            m.d.sync += put.eq(~put)
        with m.If(pop):
            m.d.sync += take.eq(~take)
        for place, data in enumerate(places):
            with m.If(self.i.ready & (put == place)):
                m.d.sync += data.eq(beat.data)
        m.d.comb += head.data.eq(Mux(take, places[1], places[0]))
        return m
