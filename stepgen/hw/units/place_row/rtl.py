"""Replaces rows of each tile."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE


class PlaceRowCore(UnitCore):
    """Map of place_row and place_rows.

    One actor. The number of the first row stays at the head of its FIFO for the tile. A row waits
    until the one that it replaces is at the head, and leaves with it, so it needs no memory.

    Parameters
    ----------
    unit.params : PlaceRow

    Notes
    -----
    One beat per cycle. Latency 0 in addition to the FIFOs'. A row that the tile does not have
    raises ``error``, and the tile's last beat stays where it is; so do operands of different
    structure.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, row, at, y = self.x.payload, self.row.payload, self.at.payload, self.y
        bits, base = self.channels["at"].bits, TILE_LEVELS
        place, number = at.data[:bits], Signal(bits)  # `number` is that of the row at the head
        value, here, ends, outside, fire, over, placed = (
            Signal(name=name)
            for name in ("value", "here", "ends", "outside", "fire", "over", "placed")
        )
        row_ends = row.stop >= base
        low = x.data[: len(x.stop)]
        empty = (x.kind == BARE) & (low <= base)
        m.d.comb += [
            value.eq(x.kind == VALUE),
            here.eq(~value | ((place <= number) & ~over)),
            placed.eq(over | (here & row_ends)),
            ends.eq(~value | (x.stop >= base)),
            outside.eq(empty | (value & ends & ~placed)),
            fire.eq(
                Cat(self.x.valid, self.at.valid, self.row.valid | ~here, y.ready, ~outside).all()
            ),
            self.x.ready.eq(fire),
            self.row.ready.eq(fire & here),
            self.at.ready.eq(fire & ends),
            y.valid.eq(fire),
            y.payload.eq(x),
        ]
        _, last = counter(m, fire & value, self.params.slices)
        with m.If(value & here):
            m.d.comb += y.payload.data.eq(row.data)
        with m.If(fire):
            m.d.sync += [
                number.eq(Mux(ends, 0, number + (x.stop != 0))),
                over.eq(placed & ~ends),
            ]

        # The rows have stops of their own, which end them with their tile; those of x and at agree.
        wrong = [
            here & ((row.kind != x.kind) | (value & ((row.stop != 0) != last))),
            here & ~value & (row.stop != x.stop),
            value & ((x.stop != 0) != last),
            (at.kind != x.kind) | (ends & value & (at.stop + base != x.stop)),
        ]
        there = Cat(self.x.valid, self.at.valid, self.row.valid | ~here, y.ready).all()
        m.d.sync += self.error.eq(there & (outside | Cat(wrong).any()))
        return m
