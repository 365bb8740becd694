"""Copies a stream to several consumers."""

from amaranth.hdl import Module

from stepgen.hw.stream import send_to_all
from stepgen.hw.unit import UnitCore


class ForkCore(UnitCore):
    """Copies each beat to all outputs, in the cycle in which all have room.

    Notes
    -----
    Latency 0 in addition to the FIFOs', one beat per cycle, a few gates.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        fire = send_to_all(m, self.x.valid, self.x.payload, self.outputs)
        m.d.comb += self.x.ready.eq(fire)
        return m
