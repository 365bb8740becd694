"""A port that streams enter through."""

from amaranth.hdl import Module
from amaranth.lib.wiring import In

from ..stream import signature
from ..unit import UnitCore


class Core(UnitCore):
    """Lets beats in while the design runs.

    Members
    -------
    port : ``In(stream)``
        The port; appears at the top under the unit's name.
    """

    def extra_ports(self):
        return {"port": In(signature(self.out_channels[0]))}

    def elaborate(self, platform):
        m = Module()
        (o,) = self.outputs
        m.d.comb += [
            o.valid.eq(self.port.valid & self.running),
            o.payload.eq(self.port.payload),
            self.port.ready.eq(o.ready & self.running),
        ]
        return m
