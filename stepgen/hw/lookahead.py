"""Holding register: delays a beat until the next one is known."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design.table import Channel
from stepgen.hw.stream import payload_shape, signature

__all__ = ["Lookahead"]


class Lookahead(wiring.Component):
    """Holding register for one beat, which leaves at once or only when the next one arrives.

    If whatever follows an element in its group may vanish (an empty group, padding, the end of the
    stream), the element must carry the group's stop, so it waits here.

    Parameters
    ----------
    channel : Channel
        The output channel.

    Members
    -------
    i : ``In(stream)``
        Next beat. Accepted when the register is free or becomes free.
    o : ``Out(stream)``
        The beat held, with ``stop`` replaced by ``last_stop`` while ``last`` is high.
    held, held_valid : ``Out``
        The content of the register.
    wait : ``In(1)``
        Whether the beat held may leave only together with the arrival of the next.
    last, last_stop : ``In``
        Replace the stop level of the beat as it leaves.
    restop, restop_level : ``In``
        Overwrite the stop level of the beat held.

    Notes
    -----
    One cycle of latency in addition to the FIFO's; one beat per cycle.
    """

    def __init__(self, channel: Channel):
        shape = payload_shape(channel)
        super().__init__(
            {
                "i": In(signature(channel)),
                "o": Out(signature(channel)),
                "held": Out(shape),
                "held_valid": Out(1),
                "wait": In(1),
                "last": In(1),
                "last_stop": In(channel.stop_bits),
                "restop": In(1),
                "restop_level": In(channel.stop_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        leaves = Signal()
        m.d.comb += [
            self.o.payload.eq(self.held),
            self.o.valid.eq(self.held_valid & (~self.wait | self.i.valid)),
            leaves.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(~self.held_valid | leaves),
        ]
        with m.If(self.last):
            m.d.comb += self.o.payload.stop.eq(self.last_stop)
        with m.If(self.restop):
            m.d.sync += self.held.stop.eq(self.restop_level)
        with m.If(self.i.ready):
            m.d.sync += self.held_valid.eq(self.i.valid)
            with m.If(self.i.valid):
                m.d.sync += self.held.eq(self.i.payload)
        return m
