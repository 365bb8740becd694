"""The loop nest with N inside: for each slice of x as it comes all slices of sums in turn."""

from amaranth.hdl import Const, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.units.matmul.nest import Nest
from stepgen.ir.wire import TILE_LEVELS, VALUE

__all__ = ["NInside"]


class NInside(Nest):
    """For each slice of a row of x all slices of N, whose sums have time to step again.

    Attributes
    ----------
    first : Value
        Whether the step's sums start.
    index : Value
        The number of its slice of sums.
    """

    def elaborate(self, m):
        """Add the registers to a module; returns whether what is at the heads doesn't fit."""
        params, x, stop, low = self.params, self.x, self.stop, self.low
        k_slices, n_slices = params.slices(self.lanes)
        is_value, is_bare = self.is_value, self.is_bare
        folds, sums_up = params.folds, params.rows > 0
        closes_group = stop >= (params.level or TILE_LEVELS + 1) if sums_up else Const(1, 1)
        none = is_bare & (low == TILE_LEVELS + 1) if folds else Const(0, 1)

        fire, works, taken = self.fire, self.works, Signal()
        of_n = self.size.n if params.any_n else None
        n_slice, last_n = self.in_turn(m, works, n_slices, of_n)
        if params.any_k:
            k_slice, last_k = Signal(range(k_slices)), stop != 0
            with m.If(taken):
                m.d.sync += k_slice.eq(Mux(last_k, 0, k_slice + 1))
        else:
            k_slice, last_k = counter(m, taken, k_slices)
        rests = last_n & (sums_up | ~last_k)
        if params.any_n:
            resting, rested = self._rest_of_any(m, works, rests, taken)
        else:
            resting, rested = self._rest(m, works & rests)
        blank, blank_stop = self._nothing(m, fire & none)
        complete = self.held[0].payload.stop > TILE_LEVELS if folds else Const(1, 1)
        sends = Mux(
            is_value,
            last_k & complete & ~resting,
            closes_group | ~is_bare | (low != TILE_LEVELS) if folds else 1,
        )
        last = last_k & taken & (stop >= TILE_LEVELS)
        m.d.comb += [
            works.eq(fire & is_value & ~resting),
            taken.eq(Mux(last_k & (not sums_up), works & last_n, rested)),
            self.ends.eq(Mux(is_value, last, ~none | blank)),
            x.ready.eq(Mux(is_value, taken, fire & self.ends)),
        ]
        both = self.meets(m, sends)
        following, ends_row = self.block + 1, works & last_n & last_k
        if params.any_n:  # a slice of K has room for the most of N
            row = Signal.like(self.block)
            next_row = row + n_slices
            following = Mux(last_n, next_row, following)
            with m.If(works & last_n):
                m.d.sync += row.eq(next_row)
            with m.If(ends_row):
                m.d.sync += row.eq(0)
        with m.If(works):
            m.d.sync += self.block.eq(following)
        with m.If(ends_row):
            m.d.sync += self.block.eq(0)

        self.n_slice, self.last_n, self.last_k = n_slice, last_n, last_k
        self.index, fresh = n_slice, Const(1, 1)
        if sums_up:
            fresh = Signal(init=1)
            with m.If(fire & self.ends):
                m.d.sync += fresh.eq(closes_group | ~self.has_tile & (fresh | ~is_bare))
            self.index = self._index(m, works, last_n, last_k, fire & self.ends)
        self.first = fresh & (k_slice == 0)

        out = stop - folds * (stop > TILE_LEVELS)
        value_stop = Mux(last_n, out, 0)
        self.kind, self.nothing = Mux(none, VALUE, x.payload.kind), none
        self.out_stop = Mux(none, Mux(blank, out, blank_stop), Mux(is_value, value_stop, out))
        self.out_low = Mux(is_bare, low - folds * (low > TILE_LEVELS), low)

        wrong = is_value & ((stop != 0) != last_k)
        if params.any_k:
            wrong = is_value & ((k_slice == self.size.k) != last_k)
        wrong = wrong | self.differs()
        if folds and not params.fixed:
            wrong = wrong | none
        return both & wrong

    def _rest(self, m, last):
        """Wait, after the last step of a slice, until its row's sums can step again.

        Returns
        -------
        resting : Value
        rested : Value
            Whether this is the slice's last cycle.
        """
        lanes = self.lanes
        cycles = self.params.turn(lanes) - self.params.slices(lanes)[1]
        if not cycles:
            return Const(0, 1), last
        resting, ends = Signal(), Signal()
        _, rested = counter(m, resting, cycles)
        m.d.comb += ends.eq(resting & rested)
        with m.If(last):
            m.d.sync += resting.eq(1)
        with m.Elif(ends):
            m.d.sync += resting.eq(0)
        return resting, ends

    def _rest_of_any(self, m, works, last, taken):
        """As `_rest`, for rows of any number of slices: `rest` cycles from a slice's first step."""
        cycles = Signal(range(self.params.rest))
        resting, enough = Signal(), cycles == self.params.rest - 1
        with m.If(taken):
            m.d.sync += [cycles.eq(0), resting.eq(0)]
        with m.Elif(works | resting):
            m.d.sync += [cycles.eq(cycles + ~enough), resting.eq(resting | last)]
        return resting, (resting | works & last) & enough

    def _nothing(self, m, sends):
        """The beats of the sums of an empty group: whether it is the last, and its stop if not."""
        if not self.params.rows:
            return Const(1, 1), Const(0, 1)
        _, ends_row = counter(m, sends, self.params.slices(self.lanes)[1])
        _, last_row = counter(m, sends & ends_row, self.params.rows)
        return ends_row & last_row, ends_row

    def _index(self, m, works, last_n, last_k, ends):
        """The number of the sums of the next step."""
        sums = self.params.sums(self.lanes)
        index, row = Signal(range(sums)), Signal(range(sums))
        with m.If(works):
            next_row = row + self.params.slices(self.lanes)[1] if self.params.any_n else index + 1
            following = Mux(last_n & last_k, next_row, index + 1)
            m.d.sync += index.eq(Mux(last_n & ~last_k, row, following))
            with m.If(last_n & last_k):
                m.d.sync += row.eq(next_row)
        with m.If(ends):
            m.d.sync += [index.eq(0), row.eq(0)]
        return index
