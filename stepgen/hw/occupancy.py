"""Occupancy counter: a FIFO whose entries carry no data."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Occupancy"]


class Occupancy(wiring.Component):
    """Counts entries in flight, with the handshake of a FIFO of latency 1.

    Parameters
    ----------
    depth : int
        Most entries, at least 1.

    Members
    -------
    put, take : ``In(1)``
        An entry is added, only while `room`; one is removed, only while `any`.
    room, any : ``Out(1)``
        Not full; not empty. Both from registers.
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
