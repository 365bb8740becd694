"""Makes a group of addresses, or of selectors, of each range of addresses."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.hw.units.span.params import SELECTORS
from stepgen.ir.wire import BARE, DONE, VALUE


class SpanCore(UnitCore):
    """FlatMap of span, span_first and span_last, and Map of span_end.

    Sends a beat for each address of the range at the head, with "end" one for the last. That one
    takes the range from the input, and its stop; an empty range becomes an empty group. What does
    not fit on the wires is all ones, and stays it.

    Parameters
    ----------
    unit.params : Span

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'; a counter, an adder and two
    comparators. A range that is too long, or empty where it must not be, raises ``error`` and stays
    where it is.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        bits, raised = self.channels["x"].bits, params.raised
        kind, stop = x.payload.kind, x.payload.stop
        start, length = (x.payload.data.word_select(n, bits) for n in range(2))

        number, following = Signal(bits), Signal(bits, init=1)  # its place in the range
        value, empty, wrong, last, fire = (
            Signal(name=n) for n in ("value", "empty", "wrong", "last", "fire")
        )
        m.d.comb += [
            value.eq(kind == VALUE),
            empty.eq(length == 0),
            wrong.eq(value & ((length > params.longest(bits)) | (empty if params.least else 0))),
            last.eq(~value | (following >= length) if raised else 1),
            fire.eq(x.valid & y.ready & ~wrong),
            x.ready.eq(fire & last),
            y.valid.eq(fire),
            y.payload.kind.eq(Mux(value & empty, BARE, kind)),
            y.payload.stop.eq(Mux(last & (kind != DONE), stop + raised, 0)),
        ]
        m.d.sync += self.error.eq(x.valid & wrong)
        if raised:
            with m.If(fire):
                m.d.sync += number.eq(Mux(last, 0, following))
                m.d.sync += following.eq(Mux(last, 1, following + 1))

        if params.makes in SELECTORS:
            special = last if params.makes == "last" else number == 0
            made = Cat(special, ~special)
        else:
            whole = Signal(bits + 1)
            m.d.comb += whole.eq(start + (number if raised else length - 1))
            made = whole[:bits] | whole[bits].replicate(bits)
        with m.If(kind == DONE):
            m.d.comb += y.payload.data.eq(0)
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(x.payload.data[: len(stop)] + raised)
        with m.Elif(empty):
            m.d.comb += y.payload.data.eq(1)
        with m.Else():
            m.d.comb += y.payload.data.eq(made)
        return m
