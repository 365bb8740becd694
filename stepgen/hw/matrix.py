"""The arithmetic of the matrix unit: products, adder trees, accumulators."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .primitives import Multiplier, counter, delayed, read_at_once

__all__ = ["Accumulators", "Dot"]


class Dot(wiring.Component):
    """A slice times a block: ``sums[n] = Σ_k x[k] * w[k][n]``.

    Parameters
    ----------
    lanes : int
        Elements of the slice; the block is lanes x lanes.
    bits : int
        Bits of a signed element.

    Members
    -------
    x : ``In``
        Slice of L elements.
    w : ``In``
        Block of L rows of L elements.
    sums : ``Out``
        L sums, exact.

    Notes
    -----
    Latency: a multiplier's, and a cycle per level of the adder tree. A block per cycle.
    """

    def __init__(self, lanes: int, bits: int):
        self.lanes = lanes
        self.bits = bits
        element = signed(bits)
        slice_ = data.ArrayLayout(element, lanes)
        sum_bits = 2 * bits + (lanes - 1).bit_length()
        super().__init__(
            {
                "x": In(slice_),
                "w": In(data.ArrayLayout(slice_, lanes)),
                "sums": Out(data.ArrayLayout(signed(sum_bits), lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for n in range(self.lanes):
            terms = []
            for k in range(self.lanes):
                m.submodules[f"multiply_{k}_{n}"] = multiply = Multiplier(self.bits, self.bits)
                m.d.comb += [multiply.a.eq(self.x[k]), multiply.b.eq(self.w[k][n])]
                terms.append(multiply.product)
            while len(terms) > 1:
                level = []
                for a, b in zip(terms[0::2], terms[1::2], strict=False):
                    added = Signal(signed(len(a) + 1), name="added", reset_less=True)
                    m.d.sync += added.eq(a + b)
                    level.append(added)
                if len(terms) % 2:
                    level.append(delayed(m, terms[-1], 1, reset_less=True))
                terms = level
            m.d.comb += self.sums[n].eq(terms[0])
        return m


class Accumulators(wiring.Component):
    """One accumulator per slice of a row of results, taken in turn.

    Parameters
    ----------
    slices : int
        Accumulators; each is used again after `slices` steps.
    shape : ArrayLayout
        Lanes of an accumulator.
    term : ArrayLayout
        Lanes of a term.

    Members
    -------
    step : ``In(1)``
        Add a term to the accumulator whose turn it is.
    first : ``In(1)``
        The accumulator starts from `start`.
    start : ``In``
        Lanes of an accumulator.
    term : ``In``
        What to add.
    sums : ``Out``
        The accumulator after the latest step.

    Notes
    -----
    Latency 1, a step per cycle, also with a single accumulator. They form a ring that advances with
    each step: the adder's output register, a memory of ``slices - 2`` rows and the adder's operand
    register. So only a counter addresses them, and the adder is between registers.
    """

    def __init__(self, slices: int, shape: data.ArrayLayout, term: data.ArrayLayout):
        self.slices = slices
        self.shape = shape
        super().__init__(
            {
                "step": In(1),
                "first": In(1),
                "start": In(shape),
                "term": In(term),
                "sums": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        before = self.sums
        if self.slices > 1:
            before = Signal(self.shape, reset_less=True)
            oldest = self.sums
            if self.slices > 2:
                oldest = self._ring(m, self.slices - 2, platform)
            with m.If(self.step):
                m.d.sync += before.eq(oldest)
        with m.If(self.step):
            for lane in range(self.shape.length):
                begun = Mux(self.first, self.start[lane], before[lane])
                m.d.sync += self.sums[lane].eq(begun + self.term[lane])
        return m

    def _ring(self, m, rows, platform):
        m.submodules.ring = ring = memory.Memory(
            shape=self.shape, depth=rows, init=[], attrs=read_at_once(platform)
        )
        write, read = ring.write_port(), ring.read_port(domain="comb")
        turn, _ = counter(m, self.step, rows)
        m.d.comb += [
            write.en.eq(self.step),
            write.addr.eq(turn),
            write.data.eq(self.sums),
            read.addr.eq(turn),
        ]
        return read.data
