"""Computes a maximum that decays along each row."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed

from stepgen.hw.arithmetic.circuits.floating import Parts, infinity
from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class RunningMaxCore(UnitCore):
    """Map of running_max.

    What decays is added in advance: column j gets j times as much, counted through the beats of a
    row. Then follow a prefix network over the lanes of a beat, a register with the maximum of the
    row's beats so far, and a subtraction. Floats become integers of the same order, -0 below +0 and
    NaN above all, and these become floats again.

    Floats that decay are rounded with each subtraction. One pipeline then computes one column after
    the other, of the head of x, which stays there until its last column is under way.

    Parameters
    ----------
    unit.params : RunningMax

    Notes
    -----
    One beat per cycle. Latency 5, and 2 for each level of the network. Cost: an adder
    and a subtraction per lane, about log2(L) + 2 comparators. Of floats that decay each element of
    a beat takes the stages of an addition and a comparison, of which there is one in all; latency
    2. A row of another number of beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params, lanes = self.x, self.y, self.params, self.design.lanes
        kind, stop, fire = x.payload.kind, x.payload.stop, Signal()
        value = kind == VALUE
        at, last = counter(m, fire & value, params.slices(lanes))
        done = Signal()
        m.d.comb += [
            fire.eq(x.valid & y.ready & done),
            x.ready.eq(fire),
            y.valid.eq(fire),
        ]
        m.d.sync += self.error.eq(fire & value & ((stop != 0) != last))
        if params.columnwise:
            made = self._columns(m, value, at == 0, done)
        else:
            m.d.comb += done.eq(1)
            made = self._prefixes(m, fire & value, at == 0, last)
        kind, stop, low = (
            self._late(m, field, params.delay(lanes))
            for field in (kind, stop, x.payload.data[: len(stop)])
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(Mux(kind == VALUE, Cat(made), low)),
        ]
        return m

    def _columns(self, m, value, first, done):
        """The elements of a beat, one after the other; `done` from when it may leave."""
        x, pipeline, bits = self.x, self.params.pipeline, self.params.element.bits
        works, feeds = x.valid & value, Signal()
        moves = works & (~done | self.y.ready)
        phase, phase_ends = counter(m, moves, pipeline.loop)
        number, number_ends = counter(m, moves & phase_ends, self.design.lanes)
        m.d.comb += [
            feeds.eq(works & (phase == 0)),
            done.eq(~value | phase_ends & number_ends),
        ]
        before, latest = Signal(bits), Signal(bits)
        lowest = Cat(infinity(bits), Const(1, 1))
        m.d.comb += before.eq(Mux(first & (number == 0), lowest, latest))
        element = x.payload.data.word_select(number, bits)
        made = self.lane(m, "lane", pipeline, [before, element])
        arrives = delayed(m, feeds, pipeline.loop)
        kept, collected = Signal(bits), Signal(self.design.lanes * bits)
        m.d.comb += latest.eq(Mux(arrives, made, kept))
        m.d.sync += kept.eq(latest)
        with m.If(arrives):
            m.d.sync += collected.eq(Cat(collected[bits:], made))
        return collected

    def _prefixes(self, m, takes, first, last):
        """The elements of a beat, all at once."""
        x, params, lanes = self.x, self.params, self.design.lanes
        # The offset of the beat's first column; further lanes add their constants.
        whole = params.step * lanes
        before = Signal(range(max(1, whole * params.slices(lanes))))
        if whole:
            with m.If(takes):
                m.d.sync += before.eq(Mux(last, 0, before + whole))
        words = [x.payload.data.word_select(n, params.element.bits) for n in range(lanes)]
        elements = [Parts(w).key if params.of_floats else w.as_signed() for w in words]
        numbers = [self._then(m, e + (before + n * params.step)) for n, e in enumerate(elements)]
        time, reach = 1, 1
        while reach < lanes:
            larger = [self._larger(m, a, b) for a, b in zip(numbers[reach:], numbers, strict=False)]
            numbers = [*(self._late(m, n, 2) for n in numbers[:reach]), *larger]
            time, reach = time + 2, 2 * reach

        # The maximum of the beats before, while the row goes on.
        first = delayed(m, first, time, reset_less=True)
        takes = delayed(m, takes, time)
        so_far, carried = (self._number(name) for name in ("so_far", "carried"))
        behind = Mux(first, self._lowest, so_far)
        m.d.comb += carried.eq(behind)
        with m.If(takes):
            m.d.sync += so_far.eq(Mux(numbers[-1] > behind, numbers[-1], behind))
        carried, numbers = self._then(m, carried), [self._then(m, n) for n in numbers]
        numbers = [self._larger(m, n, carried) for n in numbers]

        offset = self._late(m, before, params.delay(lanes) - 1)
        return [
            self._late(m, self._element(n - (offset + k * params.step)), 1)
            for k, n in enumerate(numbers)
        ]

    def _element(self, number):
        """The bit pattern of a number that is an element."""
        pattern = number[: self.params.element.bits]
        return Parts(pattern).key if self.params.of_floats else pattern  # the key of a key

    @property
    def _lowest(self):
        """A number that is not larger than any."""
        bits = self.params.bits(self.design.lanes)
        return Const(-(1 << bits - 1), signed(bits))

    def _number(self, name):
        return Signal(signed(self.params.bits(self.design.lanes)), name=name)

    def _late(self, m, value, cycles):
        return delayed(m, value, cycles, reset_less=True)

    def _then(self, m, value):
        """A number behind a register."""
        number = self._number("number")
        m.d.comb += number.eq(value)
        return self._late(m, number, 1)

    def _larger(self, m, a, b):
        """The larger number, two cycles later."""
        chosen = self._late(m, a > b, 1)
        return self._late(m, Mux(chosen, self._late(m, a, 1), self._late(m, b, 1)), 1)
