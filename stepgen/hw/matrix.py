"""The arithmetic of units of products: products, adder trees, accumulators."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design import stages
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.primitives import BlockRam, Multiplier, counter, delayed, read_at_once

__all__ = ["Accumulators", "Dot", "RowSums"]


class Dot(wiring.Component):
    """A slice times a block: ``sums[n] = Σ_k x[k] * w[k][n]``.

    Parameters
    ----------
    rows, columns : int
        Of the block; the slice has as many elements as the block has rows.
    bits : int
        Bits of a signed element.

    Members
    -------
    x : ``In``
        Slice.
    w : ``In``
        Rows of the block.
    sums : ``Out``
        A sum for each column, exact.

    Notes
    -----
    Latency: a multiplier's, and a cycle per level of the adder tree. A block per cycle.
    """

    def __init__(self, rows: int, columns: int, bits: int):
        self.rows = rows
        self.columns = columns
        self.bits = bits
        element = signed(bits)
        sum_bits = 2 * bits + (rows - 1).bit_length()
        super().__init__(
            {
                "x": In(data.ArrayLayout(element, rows)),
                "w": In(data.ArrayLayout(data.ArrayLayout(element, columns), rows)),
                "sums": Out(data.ArrayLayout(signed(sum_bits), columns)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for n in range(self.columns):
            terms = []
            for k in range(self.rows):
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
    starts : ``In(1)``
        The accumulator of the step in the next cycle starts from `start`.
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
    register. So only a counter addresses them, and the adder is between registers. The operand
    register is set to `start` a cycle ahead, so no multiplexer stands before the adder either.
    """

    def __init__(self, slices: int, shape: data.ArrayLayout, term: data.ArrayLayout):
        self.slices = slices
        self.shape = shape
        super().__init__(
            {
                "step": In(1),
                "starts": In(1),
                "start": In(shape),
                "term": In(term),
                "sums": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self.slices > 1:
            before = Signal(self.shape, reset_less=True)
            oldest = self.sums
            if self.slices > 2:
                oldest = self._ring(m, self.slices - 2, platform)
            with m.If(self.step):
                m.d.sync += before.eq(oldest)
            with m.If(self.starts):
                m.d.sync += before.eq(self.start)
        else:
            start = delayed(m, self.start, 1, reset_less=True)
            starts = delayed(m, self.starts, 1)
            before = [Mux(starts, start[n], self.sums[n]) for n in range(self.shape.length)]
        with m.If(self.step):
            for lane in range(self.shape.length):
                m.d.sync += self.sums[lane].eq(before[lane] + self.term[lane])
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


class RowSums(wiring.Component):
    """The slices of a row of sums, to any of which a step adds.

    Where there are more than two they are in a memory, which is read ahead of the step, into a
    register that starts sums by its reset: no multiplexer stands before the adder.

    Parameters
    ----------
    slices : int
        Slices of the row, which steps take in turn.
    shape : ArrayLayout
        Lanes of a slice.
    term : ArrayLayout
        Lanes of a term.
    start : int
        Where all sums start.

    Members
    -------
    step : ``In(1)``
        Add a term.
    index : ``In``
        To which slice, `AHEAD` cycles before `step`.
    first : ``In(1)``
        Whether its sums start, as far before.
    clear : ``In(1)``
        Show zeros, where there is no step and the next ones start sums.
    term : ``In``
        What to add.
    sums : ``Out``
        The slice after the latest step.

    Notes
    -----
    Latency 1, a step per cycle. More than `SHALLOW` slices are in block RAM.
    """

    AHEAD = stages.BLOCK_RAM + 1

    def __init__(
        self, slices: int, shape: data.ArrayLayout, term: data.ArrayLayout, start: int = 0
    ):
        self.slices = slices
        self.shape = shape
        self.start = start
        super().__init__(
            {
                "step": In(1),
                "index": In(range(slices)),
                "first": In(1),
                "clear": In(1),
                "term": In(term),
                "sums": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        first = delayed(m, self.first, self.AHEAD - 1, reset_less=True)
        if self.slices > 2:
            before = Signal(self.shape, reset_less=True)
            m.d.sync += before.eq(self._read(m, platform))
            with m.If(first):
                m.d.sync += before.eq(self.shape.const([self.start] * self.shape.length))
        else:
            kept = self.sums
            if self.slices == 2:
                kept = Signal(self.shape, reset_less=True)
                with m.If(self.step):
                    m.d.sync += kept.eq(self.sums)
            starts = delayed(m, first, 1, reset_less=True)
            before = [Mux(starts, self.start, sum_) for sum_ in kept]
        with m.If(self.step):
            for lane in range(self.shape.length):
                m.d.sync += self.sums[lane].eq(before[lane] + self.term[lane])
        with m.If(self.clear):
            m.d.sync += self.sums.eq(0)
        return m

    def _read(self, m, platform):
        """The slice of the next cycle's step."""
        index = delayed(m, self.index, self.AHEAD - 1, reset_less=True)
        written = delayed(m, index, 2, reset_less=True)
        wrote = delayed(m, self.step, 1)
        if self.slices > SHALLOW:
            m.submodules.rows = rows = BlockRam(self.shape.size, self.slices)
            m.d.comb += [
                rows.w_en.eq(wrote),
                rows.w_addr.eq(written),
                rows.w_data.eq(self.sums),
                rows.r_addr.eq(self.index),
            ]
            return rows.r_data
        m.submodules.rows = rows = memory.Memory(
            shape=self.shape, depth=self.slices, init=[], attrs=read_at_once(platform)
        )
        write, read = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(wrote),
            write.addr.eq(written),
            write.data.eq(self.sums),
            read.addr.eq(index),
        ]
        return read.data
