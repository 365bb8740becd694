"""Cuts rows into parts."""

from math import gcd

from amaranth.hdl import Array, Cat, Module, Mux, Signal

from stepgen.hw.primitives import counter
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class CutColsCore(UnitCore):
    """FlatMap of cut_cols, and of retile_streamify by columns, for tiles of one row.

    Where parts begin with beats, only stops change. Otherwise a beat is made of lanes of the
    arriving one, or of these and of the beat before it, which is kept.

    Parameters
    ----------
    unit.params : CutCols

    Notes
    -----
    A beat of a part per cycle. Latency 0 in addition to the FIFOs', two counters and a multiplexer
    of the lanes; where a beat may have columns of two beats, a register of a beat too. A row of
    another number of beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params, lanes = self.x, self.y, self.params, self.design.lanes
        kind, stop = x.payload.kind, x.payload.stop
        value, fire, takes = Signal(), Signal(), Signal()
        part_of_row, ends_part = counter(m, fire & value, params.slices(lanes))
        _, ends_row = counter(m, fire & value & ends_part, params.parts_of_row)
        last = ends_part & ends_row
        data, moves_on = self._lanes(m, fire & value, part_of_row, ends_part, last)
        raised = stop + (kind != DONE) if params.apart else stop
        closed = Mux(ends_part, TILE_LEVELS, 0) if params.apart else 0
        m.d.comb += [
            value.eq(kind == VALUE),
            fire.eq(x.valid & y.ready),
            takes.eq(fire & (~value | last | moves_on)),
            x.ready.eq(takes),
            y.valid.eq(fire),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(value & ~last, closed, raised)),
        ]
        with m.If(value):
            m.d.comb += y.payload.data.eq(data)
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(x.payload.data[: len(stop)] + params.apart)
        least = TILE_LEVELS if params.apart else 1
        m.d.sync += self.error.eq(takes & value & ((stop >= least) != last))
        return m

    def _lanes(self, m, step, slice_of_part, ends_part, last):
        """The lanes of a beat of a part, and whether the next one has columns of the next beat.

        Beats begin at multiples of some lanes, and are counted in these.
        """
        params, lanes = self.params, self.design.lanes
        slices, tail = params.slices(lanes), params.tail(lanes)
        unit = gcd(tail, lanes)
        whole, rest = lanes // unit, tail // unit
        beat = self.x.payload.data[: lanes * params.bits]
        straddles = params.straddles(lanes)
        origin = whole if straddles else 0
        begin = Signal(range(origin + whole), init=origin)
        ends_next = slice_of_part == slices - 2 if slices > 1 else 1
        after, end = Signal(range(origin + 2 * whole + 1)), Signal(range(origin + 3 * whole + 1))
        moves_on = Signal()
        m.d.comb += [
            after.eq(begin + Mux(ends_part, rest, whole)),
            end.eq(after + Mux(ends_next, rest, whole)),
            moves_on.eq(end > origin + whole),
        ]
        with m.If(step):
            m.d.sync += begin.eq(Mux(last, origin, Mux(moves_on, after - whole, after)))
        lane = unit * params.bits
        if not straddles:
            within = lanes % params.width == 0
            return beat.word_select(begin, lane) if within else beat, moves_on
        before = Signal.like(beat, reset_less=True)
        with m.If(self.x.ready):
            m.d.sync += before.eq(beat)
        source = Cat(before, beat)
        choices = Array(source[n * lane :][: lanes * params.bits] for n in range(2 * whole))
        return choices[begin], moves_on
