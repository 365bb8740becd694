"""Joins streams along a dim."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.onehot import select
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE


class ConcatCore(UnitCore):
    """Sends a group of the first input, then one of the second, and so on (Concat).

    Only the last input's stops close groups of the output.

    Parameters
    ----------
    unit.params : Concat

    Notes
    -----
    One beat per cycle; an empty group, and the end, of an input before the last takes one too.
    Latency 0 in addition to the FIFOs'. Cost: a ring of a bit per input, and a multiplexer.
    """

    def elaborate(self, platform):
        m = Module()
        xs, y, level = self.inputs, self.y, self.params.level
        current = Signal(len(xs), init=1)
        valid, kind, stop, data = (
            select(current, fields)
            for fields in (
                [x.valid for x in xs],
                [x.payload.kind for x in xs],
                [x.payload.stop for x in xs],
                [x.payload.data for x in xs],
            )
        )
        last, passed, ends, fire = current[-1], Signal(), Signal(), Signal()
        empty = (kind == BARE) & (data[: len(stop)] > level)
        m.d.comb += [
            passed.eq(~last & ((kind == DONE) | empty)),
            ends.eq((kind == DONE) | (stop > level)),
            fire.eq(valid & (passed | y.ready)),
            y.valid.eq(valid & ~passed),
            y.payload.kind.eq(kind),
            y.payload.stop.eq(Mux(~last & (stop > level), level, stop)),
            y.payload.data.eq(data),
        ]
        for x, mine in zip(xs, current, strict=True):
            m.d.comb += x.ready.eq(fire & mine)
        with m.If(fire & ends):
            m.d.sync += current.eq(Cat(last, current[:-1]))
        return m
