"""The AXI4 master of a design."""

from amaranth.hdl import Const, Module
from amaranth.lib.wiring import Out

from stepgen.hw.axi import Axi4
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.axi.params import LENGTH_BITS

INCR = 1


class AxiCore(UnitCore):
    """Connects FIFOs to the bus; the FIFOs are the output registers.

    An error response to a read or a write raises ``error``.

    Parameters
    ----------
    unit.params : reads, writes : bool

    Members
    -------
    port : ``Out(Axi4)``
        The port; appears at the top under the unit's name.

    Notes
    -----
    Latency 0 in addition to the FIFOs', one word per cycle and direction, no logic.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def extra_ports(self):
        bus = self.design.bus
        return {"port": Out(Axi4(bus.address_bits, bus.data_bits))}

    def elaborate(self, platform):
        m = Module()
        port, bus = self.port, self.design.bus
        size = (bus.bytes - 1).bit_length()
        m.d.comb += [port.rready.eq(1), port.bready.eq(1)]

        def request(head, prefix):
            def field(name):
                return getattr(port, prefix + name)

            m.d.comb += [
                field("valid").eq(head.valid),
                head.ready.eq(field("ready")),
                field("len").eq(head.payload[:LENGTH_BITS]),
                field("addr").eq(head.payload[LENGTH_BITS:] << size),
                field("size").eq(size),
                field("burst").eq(INCR),
            ]

        refused_read = refused_write = Const(0)
        if self.params.reads:
            request(self.ar, "ar")
            r = self.r
            m.d.comb += [
                r.valid.eq(port.rvalid),
                r.payload[0].eq(port.rlast),
                r.payload[1:].eq(port.rdata),
                port.rready.eq(r.ready),
            ]
            refused_read = port.rvalid & port.rready & port.rresp[1]
        if self.params.writes:
            request(self.aw, "aw")
            w, b = self.w, self.b
            m.d.comb += [
                port.wvalid.eq(w.valid),
                w.ready.eq(port.wready),
                port.wlast.eq(w.payload[0]),
                port.wstrb.eq(w.payload[1:]),
                port.wdata.eq(w.payload[1 + bus.bytes :]),
                b.valid.eq(port.bvalid),
                b.payload.eq(0),
                port.bready.eq(b.ready),
            ]
            refused_write = port.bvalid & port.bready & port.bresp[1]
        m.d.sync += self.error.eq(refused_read | refused_write)
        return m
