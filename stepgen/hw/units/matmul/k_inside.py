"""The loop nest with K inside: a slice of sums after the other, which stays where it is."""

from amaranth.hdl import Const, Mux, Signal

from stepgen.hw.units.matmul.nest import Nest
from stepgen.ir.wire import TILE_LEVELS

__all__ = ["KInside"]


class KInside(Nest):
    """For each complete row of x the slices of N, and for each of those all slices of K.

    Attributes
    ----------
    k_slice : Value
        The step's slice of the row at `x`.
    ends_row : Signal
        Whether that row has been used.
    """

    def elaborate(self, m):
        """Add the registers to a module; returns whether what is at the heads doesn't fit."""
        params, works = self.params, self.works
        k_slices, n_slices = params.slices(self.lanes)
        of_k = self.size.k if params.any_k else None
        of_n = self.size.n if params.any_n else None
        turns = Signal()
        self.k_slice, last_k = self.in_turn(m, works, k_slices, of_k)
        self.n_slice, last_n = self.in_turn(m, turns, n_slices, of_n)
        m.d.comb += turns.eq(works & last_k)
        self.last_k, self.last_n = last_k, last_n

        self.ends_row = Signal()
        ends_row, is_value = last_k & last_n, self.is_value
        m.d.comb += [
            works.eq(self.fire & is_value),
            self.ends_row.eq(works & ends_row),
            self.ends.eq(~is_value | ends_row & (self.stop >= TILE_LEVELS)),
            self.x.ready.eq(self.fire & (~is_value | ends_row)),
        ]
        both = self.meets(m, ~is_value | last_k)
        following = self.block + 1
        if params.any_k:  # a slice of N has room for the most of K
            column = Signal.like(self.block)
            next_column = column + k_slices
            following = Mux(last_k, next_column, following)
            with m.If(turns):
                m.d.sync += column.eq(next_column)
            with m.If(self.ends_row):
                m.d.sync += column.eq(0)
        with m.If(works):
            m.d.sync += self.block.eq(following)
        with m.If(self.ends_row):
            m.d.sync += self.block.eq(0)

        self.kind, self.out_low, self.nothing = self.x.payload.kind, self.low, Const(0, 1)
        self.out_stop = Mux(is_value & ~last_n, 0, self.stop)
        wrong = self.differs()
        if params.any_k:
            wrong = wrong | is_value & (self.x.payload.data[: len(self.k_slice)] != self.size.k)
        return both & wrong
