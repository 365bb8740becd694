"""A register that holds one beat back until the next one is known."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .design.table import Channel
from .stream import payload_shape, signature

__all__ = ["Lookahead"]


class Lookahead(wiring.Component):
    """Holds the latest beat; lets it go at once, or only when a next one comes.

    An element whose group may yet turn out to end with nothing more of substance (an empty group,
    padding, the end of the stream) must carry that group's stop, so it waits here.

    Parameters
    ----------
    channel : Channel
        The output channel.

    Members
    -------
    i : ``In(stream)``
        Next beat. Taken when the register is free or becomes free.
    o : ``Out(stream)``
        The beat held, with ``stop`` replaced by ``last_stop`` while ``last`` is high.
    held, held_valid : ``Out``
        What is in the register.
    wait : ``In(1)``
        Whether the beat held may leave only together with the arrival of the next.
    last, last_stop : ``In``
        Leave with another stop level.
    restop, restop_level : ``In``
        Overwrite the stop level of the beat held.

    Notes
    -----
    One cycle of latency beside the FIFO's; one beat per cycle.
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
