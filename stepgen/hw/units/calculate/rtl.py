"""Arithmetic and comparisons of addresses."""

import operator

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.primitives import Multiplier, delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.calculate.params import RELATIONS
from stepgen.ir.wire import VALUE, number_limit


class CalculateCore(UnitCore):
    """Map of sums, products, maxima, minima, pairs and comparisons, of addresses.

    All ones stand for any address too large for the wires, and stay all ones in sums, products,
    maxima, minima and pairs.

    Parameters
    ----------
    unit.params : Calculate

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs', or 3 where numbers are multiplied by
    what is not a power of two. An adder, a comparator or a multiplier for each address of a beat.
    ``error`` rises where a difference is below 0, where all ones are subtracted from or compared
    with all ones, which then stay where they are, and when beats that meet differ in kind or stop.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        params, y = self.params, self.y
        operands = [x.payload for x in self.inputs]
        first, *others = operands
        bits, stages = self.channels[params.inputs[0]].bits, params.delay(self.design.lanes)
        value, wrong, there, fire = (Signal(name=n) for n in ("value", "wrong", "there", "fire"))
        constant = Const(params.clipped(bits), bits)
        rows = [
            [x.data.word_select(n % columns, bits) for n in range(params.made)]
            for x, columns in zip(operands, params.columns, strict=True)
        ]
        if not others:
            rows.append([constant] * params.made)
        made, faults = [], []
        for n, (a, b) in enumerate(zip(*rows, strict=True)):
            result, fault = self._one(m, n, a, b)
            made.append(result)
            faults.append(fault)
        m.d.comb += [
            value.eq(first.kind == VALUE),
            wrong.eq(value & Cat(faults).any()),
            there.eq(Cat(*(x.valid for x in self.inputs), y.ready).all()),
            fire.eq(there & ~wrong),
            *(x.ready.eq(fire) for x in self.inputs),
            y.valid.eq(fire),
        ]
        apart = [(x.kind != first.kind) | (x.stop != first.stop) for x in others]
        m.d.sync += self.error.eq(there & Cat(wrong, *apart).any())

        def late(signal):
            return delayed(m, signal, stages, reset_less=True)

        kind, low = late(first.kind), late(first.data[: len(first.stop)])
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(late(first.stop)),
            y.payload.data.eq(Mux(kind == VALUE, Cat(made), low)),
        ]
        return m

    def _one(self, m, n, a, b):
        """What is made of two addresses, and whether they are refused."""
        params, operation = self.params, self.params.operation
        bits, most = len(a), number_limit(len(a))
        if operation in RELATIONS:
            return getattr(operator, operation)(a, b), (a == most) & (b == most)
        if operation == "difference":
            whole = Signal(bits + 1, name=f"difference_{n}")
            m.d.comb += whole.eq(a - b)
            return whole[:bits], whole[bits] | (a == most)
        if operation == "pair":
            return (a, b)[n], Const(0, 1)
        if operation in ("larger", "smaller"):
            larger = Signal(name=f"larger_{n}")
            m.d.comb += larger.eq(a >= b)
            return Mux(larger if operation == "larger" else ~larger, a, b), Const(0, 1)
        if operation == "sum":
            whole = a + b
        elif params.multiplies:
            factor = params.factor(bits)
            m.submodules[f"product_{n}"] = product = Multiplier(
                bits, max(1, factor.bit_length()), a_signed=False, b_signed=False
            )
            m.d.comb += [product.a.eq(a), product.b.eq(factor)]
            whole = product.product << params.shift
        else:
            whole = a << params.shift if params.constant else Const(0, bits)
        total = Signal(max(bits + 1, len(whole)), name=f"total_{n}")
        m.d.comb += total.eq(whole)
        return total[:bits] | total[bits:].any().replicate(bits), Const(0, 1)
