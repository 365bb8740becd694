"""A pipeline of arithmetic on the lanes of aligned beats."""

from amaranth.hdl import Cat, Module, Mux, Signal

from ....ir.wire import VALUE
from ...arithmetic.circuits.lane import lane
from ...primitives import delayed
from ...unit import UnitCore


class PcuCore(UnitCore):
    """Map of an element-wise function.

    Parameters
    ----------
    unit.params : Pcu

    Notes
    -----
    One beat of every operand per cycle, no state. Latency and hardware multipliers are those of
    the pipeline (`stepgen.hw.arithmetic.operations`). ``error`` rises when beats that meet differ
    in kind or stop. Resources and clock: ``benchmarks/RESULTS.md``, d.
    """

    def elaborate(self, platform):
        m = Module()
        y, pipeline = self.y, self.params.pipeline
        first, *others = (x.payload for x in self.inputs)
        fire = Signal()
        m.d.comb += fire.eq(Cat(*(x.valid for x in self.inputs), y.ready).all())
        m.d.comb += [x.ready.eq(fire) for x in self.inputs]
        m.d.comb += y.valid.eq(fire)
        if others:
            apart = [(x.kind != first.kind) | (x.stop != first.stop) for x in others]
            m.d.sync += self.error.eq(fire & Cat(apart).any())

        bits = [value.element.bits for value in pipeline.values]
        lanes = [
            lane(
                m,
                pipeline,
                [x.payload.data.word_select(n, b) for x, b in zip(self.inputs, bits, strict=False)],
            )
            for n in range(self.design.lanes)
        ]
        low = first.data[: len(first.stop)]
        kind, stop, low = (
            delayed(m, value, pipeline.stages, reset_less=True)
            for value in (first.kind, first.stop, low)
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(Mux(kind == VALUE, Cat(lanes), low)),
        ]
        return m
