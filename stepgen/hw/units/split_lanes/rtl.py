"""Sends the elements of slices one by one."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class SplitLanesCore(UnitCore):
    """Behind a unit that gives slices, for rows of any number of elements.

    A slice stays at the head of its FIFO until its last element has left.

    Parameters
    ----------
    unit.params : SplitLanes

    Notes
    -----
    An element per cycle.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, lanes, bits = self.x, self.y, self.design.lanes, self.params.bits
        is_value, data = x.payload.kind == VALUE, x.payload.data
        lacks = data[lanes * bits :][: (lanes - 1).bit_length()]
        place, ends, fire = Signal(range(lanes)), Signal(), Signal()
        m.d.comb += [
            ends.eq(~is_value | (place + lacks == lanes - 1)),
            fire.eq(x.valid & y.ready),
            x.ready.eq(fire & ends),
            y.valid.eq(fire),
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(Mux(ends, x.payload.stop, 0)),
            y.payload.data.eq(
                Mux(is_value, data.word_select(place, bits), data[: len(x.payload.stop)])
            ),
        ]
        with m.If(fire):
            m.d.sync += place.eq(Mux(ends, 0, place + 1))
        return m
