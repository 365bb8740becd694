"""Requests bursts when there is space for their words."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.stream import signature
from stepgen.hw.units.axi.params import LENGTH_BITS

__all__ = ["Grant"]


class Grant(wiring.Component):
    """Passes a burst on while the FIFO of words has space for the longest one (credit).

    So what requests words never stalls the bus. Credits return a cycle late.

    Parameters
    ----------
    bursts, req : Channel
        What it takes and what it sends.
    depth : int
        Words that the FIFO holds.
    longest : int
        Words of the longest burst.

    Members
    -------
    bursts : ``In(stream)``
    req : ``Out(stream)``
    taken : ``In(1)``
        A word leaves the FIFO.
    """

    def __init__(self, bursts, req, depth: int, longest: int):
        self.depth, self.longest = depth, longest
        ports = {"bursts": In(signature(bursts)), "req": Out(signature(req)), "taken": In(1)}
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        bursts, req, most = self.bursts, self.req, self.depth - self.longest
        # credits beyond those for the longest burst: the sign bit decides
        spare = Signal(range(-self.longest, most + 1), init=most)
        length = bursts.payload[:LENGTH_BITS]
        grant, returned = Signal(), Signal()
        m.d.comb += [
            grant.eq(bursts.valid & req.ready & (spare >= 0)),
            bursts.ready.eq(grant),
            req.valid.eq(grant),
            req.payload.eq(bursts.payload),
        ]
        m.d.sync += [
            returned.eq(self.taken),
            spare.eq(spare - Mux(grant, length + 1, 0) + returned),
        ]
        return m
