"""Counts the elements of chunks."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class CountCore(UnitCore):
    """Accum and Scan of count.

    Takes a beat in each cycle, and sends a number with the last one of a chunk, or of an element. A
    number that does not fit on the wire is all ones, and stays it.

    Parameters
    ----------
    unit.params : Count

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'; a counter.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        base, closing, bits = params.base, params.closing, self.channels["y"].bits
        kind, stop = x.payload.kind, x.payload.stop
        low = x.payload.data[: len(stop)]

        number, counted = Signal(bits, init=params.start), Signal(bits)
        above, element, sends, fire = (
            Signal(name=n) for n in ("above", "element", "sends", "fire")
        )
        is_element = (kind == VALUE) | ((kind == BARE) & (low <= base))
        m.d.comb += [
            above.eq((kind == BARE) & (low > closing)),
            element.eq(is_element & (stop >= base)),
            counted.eq(number + (element & ~number.all())),
            sends.eq((kind == DONE) | above | (stop >= closing)),
            fire.eq(x.valid & (y.ready | ~sends)),
            x.ready.eq(fire),
            y.valid.eq(fire & sends),
            y.payload.kind.eq(Mux((kind == DONE) | above, kind, VALUE)),
            y.payload.stop.eq(Mux(kind == DONE, 0, stop - closing)),
            y.payload.data.eq(
                Mux(kind == DONE, 0, Mux(above, (low - closing)[: len(stop)], counted))
            ),
        ]
        with m.If(fire):
            m.d.sync += number.eq(Mux(stop >= params.level, Const(params.start, bits), counted))
        return m
