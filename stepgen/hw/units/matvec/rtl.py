"""The product of a row and a tile of w, which streams through."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from stepgen.hw.arithmetic.circuits.sums import FloatSums
from stepgen.hw.matrix import Dot, RowSums
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.matvec.float_sum import FloatSum
from stepgen.hw.units.matvec.params import SPREAD
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE


@dataclass(frozen=True)
class WeightBeat:
    """Signals of a beat of w: whether it is taken, and where it is.

    Attributes
    ----------
    takes : Value
    place, lane : Value
        Number of the beat in its row, and of the row modulo L.
    first_row, ends_row : Value
        Of the tile; of the beat.
    first : Value
        Whether its sums start.
    last : Value
        Whether its slice of x is the row's last.
    """

    takes: Value
    place: Value
    lane: Value
    first_row: Value
    ends_row: Value
    first: Value
    last: Value


class MatvecCore(UnitCore):
    """Map(matmul) and Accum(matmul) where x has one row: each weight is used once.

    In each cycle L multipliers take a beat of w. Where w is [K, N] they multiply it by one element
    of x, and add to L sums of a row that is kept, which leaves while the last row of w passes. The
    beat of x stays at the head of its FIFO for L rows of w. Where w is [N, K] they multiply it by
    the slice of x for the same K, which with the first row of w is written to a memory and read
    from then on, and add up to one sum. L of these leave as a beat, or each by itself where N is
    dynamic. Products of bf16 are added in slices of K, as in the matrix unit. So a tile [K, N] of
    them comes turned: a slice along K for each column. A slice of x then stays for N beats, and the
    sums of a row are kept.

    Parameters
    ----------
    unit.params : Matvec

    Notes
    -----
    A beat of w per cycle. From the step to its payload: 4 cycles, transposed 9 and one per level of
    the adder tree, 4 less where K is one slice; of floats 23 and two per level.
    Resources: ``benchmarks/RESULTS.md``, d, u1 and u3.
    """

    def elaborate(self, platform):
        m = Module()
        x, w, y, params = self.x.payload, self.w.payload, self.y, self.params
        rows, beats = params.beats(self.design.lanes)
        stop, kind = x.stop, x.kind
        low = x.data[: len(stop)]
        is_value, is_bare = kind == VALUE, kind == BARE

        fire, takes = Signal(), Signal()
        place, ends_row = counter(m, takes, beats)
        if params.dynamic:
            last_row = (w.stop if params.transposed else stop) >= TILE_LEVELS
        else:
            _, last_row = counter(m, takes & ends_row, rows)
        first_row = Signal(init=1)
        if params.turned:
            lane, ends_lanes = self._lane(m, takes, ends_row)
        else:
            lane, ends_lanes = self._lane(m, takes & ends_row, last_row)
        with m.If(takes & ends_row):
            m.d.sync += first_row.eq(last_row)
        ends = ends_row & last_row

        none, sent_all, complete = Const(0, 1), Const(1, 1), Const(1, 1)
        if params.folds:
            none, complete = is_bare & (low == TILE_LEVELS + 1), stop > TILE_LEVELS
            _, sent_all = counter(m, fire & none, params.slices(self.design.lanes)[1])
        if params.transposed:
            sends, taken = ends_row & ends_lanes, Mux(first_row, ~ends_row | last_row, ends)
        elif params.turned:
            sends, taken = last_row & complete & ends_lanes, ends_row
        else:
            sends, taken = last_row & complete, ends_row & ends_lanes
        passes = Mux(none, sent_all, 1)
        m.d.comb += [
            fire.eq(self.x.valid & self.w.valid & (y.ready | is_value & ~sends)),
            takes.eq(fire & is_value),
            self.x.ready.eq(fire & Mux(is_value, taken, passes)),
            self.w.ready.eq(fire & (is_value | passes)),
            y.valid.eq(fire & (sends | ~is_value)),
        ]

        out = (stop - (params.folds & (stop > TILE_LEVELS)))[: len(y.payload.stop)]
        fresh = Const(1, 1)
        if params.folds:
            fresh = Signal(init=1)
            with m.If(takes & ends):
                m.d.sync += fresh.eq(complete)
        total = self.channels["y"].delay
        blank = delayed(m, fire & ~is_value, total - 1)
        first, last = first_row & fresh, last_row
        if params.transposed:
            first, last = Signal(init=1), ends_row
            with m.If(takes):
                m.d.sync += first.eq(ends_row)
        step = WeightBeat(takes, place, lane, first_row, ends_row, first, last)
        sums = self._sums(m, step, blank)
        y_kind, y_stop, y_low, zero = (
            delayed(m, value, total, reset_less=True)
            for value in (
                Mux(none, VALUE, kind),
                Mux(Mux(is_value, ends, passes), out, 0),
                Mux(is_bare & ~none, low - params.folds, 0)[: len(low)],
                none,
            )
        )
        start = Const(params.start, params.summing.to.bits).replicate(
            params.sent(self.design.lanes)
        )
        m.d.comb += [
            y.payload.kind.eq(y_kind),
            y.payload.stop.eq(y_stop),
            # Sums are zero where there are none.
            y.payload.data.eq(sums | y_low | start & zero.replicate(len(start))),
        ]

        # A beat of x is checked as it leaves, but that which stays is with the first row of w.
        leaves, is_last = taken, last_row
        if params.transposed:
            leaves, is_last = first_row, ends_row
        wrong_x = leaves & (((stop >= TILE_LEVELS) != is_last) | (stop == 1))
        wrong_w = ((w.stop != 0) != ends_row) | ((w.stop >= TILE_LEVELS) != ends)
        differs = stop != w.stop
        m.d.sync += self.error.eq(
            fire
            & (
                (kind != w.kind)
                | is_value & (wrong_x | wrong_w | ends & differs & params.stops)
                | ~is_value & (differs | (low != w.data[: len(low)]))
                | is_bare & (low <= TILE_LEVELS)
            )
        )
        return m

    def _lane(self, m, step, last):
        """The number of a row of w modulo L, and whether it is the last of L or of the tile.

        Of a beat of its row, if the tile is turned.
        """
        params = self.params
        lanes = (params.sent if params.transposed else params.taken)(self.design.lanes)
        if lanes == 1:
            return Const(0, 1), Const(1, 1)
        lane, full = Signal(range(lanes)), Signal()
        ends = last | full
        with m.If(step):
            m.d.sync += [lane.eq(Mux(ends, 0, lane + 1)), full.eq(~ends & (lane == lanes - 2))]
        return lane, ends

    def _sums(self, m, step, blank):
        """The data of ``y``, zeros after `blank`."""
        lanes, wide = self.design.lanes, self.params.summing.to.bits
        params = self.params
        if not (params.transposed or params.turned):
            factors = self.x.payload.data.word_select(step.lane, self._bits), self.w.payload.data
            sums = self._integers(m, step, *factors, blank)
            return Cat(_extended(sums[n], wide) for n in range(lanes))
        x, w = self._slices(m, step)
        if params.of_floats:
            sum_ = self._floats(m, step, x, w)
        else:
            sum_ = self._integers(m, step, x, w, 0)[0]
        summed, collected = params.summed(lanes), []
        ends = delayed(m, step.takes if params.turned else step.takes & step.ends_row, summed)
        lane = delayed(m, step.lane, summed, reset_less=True)
        for n in range(params.sent(lanes)):
            kept = Signal.like(sum_, name=f"sum_{n}", reset_less=True)
            with m.If(ends & (lane == n)):
                m.d.sync += kept.eq(sum_)
            with m.If(blank):
                m.d.sync += kept.eq(0)
            collected.append(_extended(kept, wide))
        return Cat(collected)

    @property
    def _bits(self):
        return self.params.summing.element.bits

    def _integers(self, m, step, x, w, blank):
        """Sums of products of integers."""
        params, lanes = self.params, self.design.lanes
        (columns, slices), adding = params.sums(lanes), params.summed(lanes) - 1
        m.submodules.dot = dot = Dot(lanes if params.transposed else 1, columns, self._bits)
        m.submodules.totals = totals = RowSums(
            slices,
            data.ArrayLayout(signed(params.summing.bits), columns),
            dot.sums.shape(),
            params.start,
        )
        ahead = adding - RowSums.AHEAD
        m.d.comb += [
            dot.x.as_value().eq(x),
            dot.w.as_value().eq(w),
            totals.term.eq(dot.sums),
            totals.step.eq(delayed(m, step.takes, adding)),
            totals.index.eq(step.place if slices > 1 else 0),
            totals.first.eq(delayed(m, step.first, ahead, reset_less=True)),
            totals.clear.eq(blank),
        ]
        return totals.sums

    def _floats(self, m, step, x, w):
        """The sum of products of bf16."""
        params, lanes = self.params, self.design.lanes
        reading = params.reading(lanes)
        if params.turned:
            sum_ = FloatSums(params.summing, lanes, params.n)
            m.d.comb += sum_.index.eq(step.place)
            if params.summing.starts:
                m.d.comb += sum_.start.eq(params.start)
        else:
            sum_ = FloatSum(params.summing, lanes)
        m.submodules.sum = sum_
        m.d.comb += [
            sum_.x.as_value().eq(x),
            sum_.w.as_value().eq(w),
            sum_.step.eq(delayed(m, step.takes, reading)),
            sum_.first.eq(delayed(m, step.first, reading, reset_less=True)),
        ]
        return sum_.sum

    def _slices(self, m, step):
        """A slice of x and the beat of w, with zeros for padding along K."""
        params, lanes, bits = self.params, self.design.lanes, self._bits
        x, w, reading = self.x.payload.data, self.w.payload.data, params.reading(lanes)
        if params.keeps_row(lanes):
            m.submodules.row = row = BlockRam(lanes * bits, params.slices(lanes)[0])
            m.d.comb += [
                row.w_en.eq(delayed(m, step.takes & step.first_row, SPREAD - 1)),
                row.w_addr.eq(delayed(m, step.place, SPREAD - 1, reset_less=True)),
                row.w_data.eq(delayed(m, x, SPREAD - 1, reset_less=True)),
                row.r_addr.eq(delayed(m, step.place, SPREAD, reset_less=True)),
            ]
            x, w = row.r_data, delayed(m, w, reading, reset_less=True)
        used = params.k % lanes * bits
        if not used or (params.turned and params.dynamic):
            return x, w
        last = delayed(m, step.last, reading, reset_less=True)
        return [Cat(v[:used], Mux(last, 0, v[used:])) for v in (x, w)]


def _extended(value, bits):
    """`value` with its sign repeated up to `bits`."""
    return Cat(value, value[-1].replicate(bits - len(value)))
