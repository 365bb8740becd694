"""Combines selectors, or flags, bit by bit."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.arithmetic.circuits import logic
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class LogicCore(UnitCore):
    """Map of logical_and, logical_or, logical_xor and logical_not, and of where, on single bits.

    Parameters
    ----------
    unit.params : Logic

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'; a gate per bit. ``error`` rises when
    beats that meet differ in kind or stop.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        y, operands = self.y, [x.payload for x in self.inputs]
        first, *others = operands
        fire = Signal()
        m.d.comb += [
            fire.eq(Cat(*(x.valid for x in self.inputs), y.ready).all()),
            *(x.ready.eq(fire) for x in self.inputs),
            y.valid.eq(fire),
            y.payload.kind.eq(first.kind),
            y.payload.stop.eq(first.stop),
        ]
        bits = self.params.bits
        made = logic.combine(self.params.operation, *(x.data[:bits] for x in operands))
        m.d.comb += y.payload.data.eq(
            Mux(first.kind == VALUE, made[:bits], first.data[: len(first.stop)])
        )
        if others:
            apart = [(x.kind != first.kind) | (x.stop != first.stop) for x in others]
            m.d.sync += self.error.eq(fire & Cat(apart).any())
        return m
