"""Makes tiles of one element of a row."""

from amaranth.hdl import Module, Mux, Signal

from ....ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ...primitives import counter
from ...unit import UnitCore


class CutColsCore(UnitCore):
    """FlatMap of retile_streamify by columns, for tiles of one row.

    Parameters
    ----------
    unit.params : CutCols

    Notes
    -----
    An element per cycle. Latency 0 in addition to the FIFOs', a counter and a multiplexer of the
    lanes. A row of another number of beats raises ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params, lanes = self.x, self.y, self.params, self.design.lanes
        kind, stop = x.payload.kind, x.payload.stop
        value, fire, ends = Signal(), Signal(), Signal()
        column, last = counter(m, fire & value, params.columns)
        lane = column[: (lanes - 1).bit_length()]
        beat = x.payload.data[: lanes * params.bits]
        m.d.comb += [
            value.eq(kind == VALUE),
            ends.eq(~value | last | (lane == lanes - 1)),
            fire.eq(x.valid & y.ready),
            x.ready.eq(fire & ends),
            y.valid.eq(fire),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(value & ~last, TILE_LEVELS, stop + (kind != DONE))),
        ]
        with m.If(value):
            m.d.comb += y.payload.data.eq(beat.word_select(lane, params.bits))
        with m.Elif(kind == BARE):
            m.d.comb += y.payload.data.eq(x.payload.data[: len(stop)] + 1)
        m.d.sync += self.error.eq(x.ready & value & ((stop >= TILE_LEVELS) != last))
        return m
