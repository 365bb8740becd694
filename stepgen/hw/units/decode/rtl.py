"""Makes selectors of addresses."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class DecodeCore(UnitCore):
    """Map of as_selector, of addresses.

    Parameters
    ----------
    unit.params : Decode

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'; a comparator for each consumer. An
    address past the last consumer raises ``error`` and stays where it is.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, bits = self.x, self.y, self.params.bits
        number = x.payload.data[: self.channels["x"].bits]
        place = number[: max(1, (bits - 1).bit_length())]
        is_value, wrong, fire = Signal(), Signal(), Signal()
        m.d.comb += [
            is_value.eq(x.payload.kind == VALUE),
            wrong.eq(is_value & (number >= bits)),
            fire.eq(x.valid & y.ready & ~wrong),
            x.ready.eq(fire),
            y.valid.eq(fire),
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(x.payload.stop),
            y.payload.data.eq(
                Mux(
                    is_value,
                    Cat(place == n for n in range(bits)),
                    x.payload.data[: len(x.payload.stop)],
                )
            ),
        ]
        m.d.sync += self.error.eq(x.valid & wrong)
        return m
