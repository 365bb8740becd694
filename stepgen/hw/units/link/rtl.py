"""Passes a stream to another design: beats as they are, in parts, or several as one."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class LinkCore(UnitCore):
    """The way of a stream from one design of a system to another.

    Parameters
    ----------
    unit.params : Link

    Notes
    -----
    One beat per cycle on the side with fewer lanes. Latency 0 in addition to the FIFOs'. Beats of
    equal lanes take wires; wide beats a counter and a multiplexer of their parts; narrow ones
    registers for all but the last of those that become one.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        m.d.comb += [
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(x.payload.stop),
            y.payload.data.eq(x.payload.data),
        ]
        if params.take > params.give:
            self._split(m)
        elif params.take < params.give:
            self._gather(m)
        else:
            m.d.comb += [y.valid.eq(x.valid), x.ready.eq(y.ready & x.valid)]
        return m

    def _split(self, m):
        x, y, params = self.x, self.y, self.params
        part, last = Signal(range(params.ratio)), Signal()
        fire, value = Signal(), Signal()
        bits = self.channels["x"].bits
        beat = x.payload.data[: params.take * bits]
        m.d.comb += [
            value.eq(x.payload.kind == VALUE),
            last.eq(part == Mux(x.payload.stop != 0, params.rest - 1, params.ratio - 1)),
            fire.eq(x.valid & y.ready),
            y.valid.eq(fire),
            x.ready.eq(fire & (last | ~value)),
        ]
        with m.If(value):
            m.d.comb += y.payload.data.eq(beat.word_select(part, params.give * bits))
            with m.If(~last):
                m.d.comb += y.payload.stop.eq(0)
        with m.If(fire & value):
            m.d.sync += part.eq(Mux(last, 0, part + 1))

    def _gather(self, m):
        x, y, params = self.x, self.y, self.params
        width = params.take * self.channels["x"].bits
        held = [Signal(width, name=f"held_{n}") for n in range(params.ratio - 1)]
        part, waits, value = Signal(range(params.ratio)), Signal(), Signal()
        beat = x.payload.data[:width]
        m.d.comb += [
            value.eq(x.payload.kind == VALUE),
            waits.eq(value & (x.payload.stop == 0) & (part != params.ratio - 1)),
            y.valid.eq(x.valid & y.ready & ~waits),
            x.ready.eq(x.valid & (waits | y.ready)),
        ]
        with m.If(value):
            # What is behind the last beat of a row is padding.
            lanes = [Mux(part == n, beat, before) for n, before in enumerate(held)]
            m.d.comb += y.payload.data.eq(Cat(*lanes, beat))
        with m.If(x.ready):
            m.d.sync += part.eq(Mux(waits, part + 1, 0))
        with m.If(x.valid & waits), m.Switch(part):
            for n, register in enumerate(held):
                with m.Case(n):
                    m.d.sync += register.eq(beat)
