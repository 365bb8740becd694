"""Reduces each row of a tile to one element, by a tree."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class ReduceRowsCore(UnitCore):
    """Map of row_sum and row_max.

    The lanes of a beat are reduced by a tree, and its results again in pairs: at each level the
    first of a pair waits for the second. Where there is none, and in lanes behind the end of a row,
    the identity takes its place. Results that are integers to add go to one register instead.

    Parameters
    ----------
    unit.params : ReduceRows

    Notes
    -----
    One beat per cycle. Latency is a pair's at each level of the tree over a row. Cost: L - 1 pairs
    for the lanes of a beat, and one for each further level. A row of another number of beats raises
    ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        is_value = x.payload.kind == VALUE
        ends = ~is_value | (x.payload.stop != 0)
        fire, takes = Signal(), Signal()
        most = params.slices(self.design.lanes)
        if params.single:
            place = Signal(range(most))
            last = place == most - 1
            with m.If(takes):
                m.d.sync += place.eq(Mux(ends, 0, place + 1))
        else:
            _, last = counter(m, takes, most)
        m.d.comb += [
            fire.eq(x.valid & (y.ready | ~ends)),
            takes.eq(fire & is_value),
            x.ready.eq(fire),
            y.valid.eq(fire & ends),
        ]
        wrong = last & ~ends if params.single else ends != last
        m.d.sync += self.error.eq(takes & wrong)

        total = self._reduced(m, takes, ends)
        kind, stop, low = (
            delayed(m, value, params.delay(self.design.lanes), reset_less=True)
            for value in (x.payload.kind, x.payload.stop, x.payload.data[: len(x.payload.stop)])
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(self.data_of("y", kind, total, low)),
        ]
        return m

    def _reduced(self, m, takes, ends):
        """The element of a row, `delay` cycles after its last beat."""
        params, pair, lanes = self.params, self.params.pair, self.design.lanes
        tail = params.columns % params.beat_lanes(lanes)
        identity = Const(params.identity, pair.element.bits)
        converts = params.conversion.stages
        last = delayed(m, ends, converts, reset_less=True)
        values = [
            Mux(last, identity, value) if tail and n >= tail else value
            for n, value in enumerate(self.lanes(m, params.conversion, [self.x.payload.data]))
        ]
        late = converts
        while len(values) > 1:
            pairs = enumerate(zip(values[::2], values[1::2], strict=True))
            values = [self.lane(m, f"pair_{len(values)}_{k}", pair, two) for k, two in pairs]
            late += pair.stages
        (value,) = values
        there, last = delayed(m, takes, late), delayed(m, ends, late, reset_less=True)
        if params.adds_up:
            return self._added_up(m, value, there, last) if params.levels(lanes)[1] else value
        for level in range(params.levels(lanes)[1]):
            held, holds = Signal(pair.element.bits, reset_less=True), Signal()
            with m.If(there):
                m.d.sync += [held.eq(value), holds.eq(~holds & ~last)]
            two = Mux(holds, held, value), Mux(holds, value, identity)
            value = self.lane(m, f"level_{level}", pair, two)
            there = delayed(m, there & (holds | last), pair.stages)
            last = delayed(m, last, pair.stages, reset_less=True)
        return value

    def _added_up(self, m, value, there, last):
        """The sum of the values of a row, in the register of the adder: a cycle after the last."""
        begins, before = Signal(init=1), Signal.like(value)
        with m.If(there):
            m.d.sync += begins.eq(last)
        two = Mux(there, value, 0), Mux(begins, 0, before)
        total = self.lane(m, "sum", self.params.pair, two)
        m.d.comb += before.eq(total)
        return total
