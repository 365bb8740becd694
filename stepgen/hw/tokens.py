"""A FIFO of beats that carry nothing: a counter."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Tokens"]


class Tokens(wiring.Component):
    """Counts what is under way; under the rules of a FIFO with a latency of 1.

    Parameters
    ----------
    depth : int
        Tokens that it holds, at least 1.

    Members
    -------
    put, take : ``In(1)``
        A token enters, only while `room`; a token leaves, only while `any`.
    room, any : ``Out(1)``
        Both from registers.
    """

    def __init__(self, depth: int):
        self.depth = depth
        super().__init__({"put": In(1), "take": In(1), "room": Out(1, init=1), "any": Out(1)})

    def elaborate(self, platform):
        m = Module()
        level = Signal(range(self.depth + 1))
        following = Signal.like(level)
        m.d.comb += following.eq(level + self.put - self.take)
        m.d.sync += [
            level.eq(following),
            self.room.eq(following != self.depth),
            self.any.eq(following != 0),
        ]
        return m
