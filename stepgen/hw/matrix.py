"""The arithmetic of units of products: products, adder trees, accumulators."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design import stages
from stepgen.hw.design.block_rams import SHALLOW
from stepgen.hw.primitives import BlockRam, Multiplier, delayed, read_at_once

__all__ = ["Alternating", "Dot", "InPlace", "RowSums"]


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


class InPlace(wiring.Component):
    """A slice of sums: adds up terms until the last one, and then those of the next slice.

    Parameters
    ----------
    shape : ArrayLayout
        Lanes of a sum.
    term : ArrayLayout
        Lanes of a term.
    starts : bool
        Whether sums start at `start`, else at zero.

    Members
    -------
    step : ``In(1)``
        Add a term.
    last : ``In(1)``
        Whether it is the slice's last.
    start : ``In``
        Where its sums start, with the first term.
    term : ``In``
        What to add.
    sums : ``Out``
        The sums with the latest term; zeros where there was none.

    Notes
    -----
    Latency 1, a step per cycle. What is kept is set to zero with the last term, and the results are
    in registers of their own: no multiplexer stands before the adder, and none behind it.
    """

    def __init__(self, shape: data.ArrayLayout, term: data.ArrayLayout, *, starts: bool = False):
        self.shape, self.starts = shape, starts
        members = {"step": In(1), "last": In(1), "term": In(term), "sums": Out(shape)}
        super().__init__(members | ({"start": In(shape)} if starts else {}))

    def elaborate(self, platform):
        m = Module()
        kept, added = Signal(self.shape), Signal(self.shape)
        before = kept
        if self.starts:
            first = Signal(init=1)
            before = [Mux(first, self.start[n], kept[n]) for n in range(self.shape.length)]
            with m.If(self.step):
                m.d.sync += first.eq(self.last)
        for lane in range(self.shape.length):
            m.d.comb += added[lane].eq(before[lane] + self.term[lane])
        m.d.sync += self.sums.eq(added)
        with m.If(self.step):
            m.d.sync += kept.eq(added)
        with m.Else():
            m.d.sync += self.sums.eq(0)
        with m.If(self.step & self.last):
            m.d.sync += kept.eq(0)
        return m


class Alternating(wiring.Component):
    """Two slices of sums, taken in turn.

    Parameters
    ----------
    shape : ArrayLayout
        Lanes of a sum.
    term : ArrayLayout
        Lanes of a term.

    Members
    -------
    step : ``In(1)``
        Add a term to the slice whose turn it is.
    starts : ``In(1)``
        The slice of the step in the next cycle starts from `start`.
    start : ``In``
        Lanes of a sum.
    term : ``In``
        What to add.
    sums : ``Out``
        The slice after the latest step.

    Notes
    -----
    Latency 1, a step per cycle. With each step the slices change places: one is in the adder's
    output register, one in its operand's. That is set to `start` a cycle ahead, so no multiplexer
    stands before the adder.
    """

    def __init__(self, shape: data.ArrayLayout, term: data.ArrayLayout):
        self.shape = shape
        members = {"step": In(1), "starts": In(1), "start": In(shape), "term": In(term)}
        super().__init__({**members, "sums": Out(shape)})

    def elaborate(self, platform):
        m = Module()
        before = Signal(self.shape, reset_less=True)
        with m.If(self.step):
            m.d.sync += before.eq(self.sums)
            for lane in range(self.shape.length):
                m.d.sync += self.sums[lane].eq(before[lane] + self.term[lane])
        with m.If(self.starts):
            m.d.sync += before.eq(self.start)
        return m


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
