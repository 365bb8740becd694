"""Joins the elements of a row to slices."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import VALUE


class JoinLanesCore(UnitCore):
    """In front of a unit that takes slices, for rows of any number of elements.

    Elements are kept until the last one of a slice comes, with which the slice leaves.

    Parameters
    ----------
    unit.params : JoinLanes

    Notes
    -----
    An element per cycle. L - 1 registers of an element.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, lanes, bits = self.x, self.y, self.design.lanes, self.params.bits
        fill = Const(self.params.fill, bits)  # what is kept is the difference to it
        is_value, element = x.payload.kind == VALUE, x.payload.data[:bits] ^ fill
        place = Signal(lanes, init=1)
        kept = [Signal(bits, name=f"kept_{n}") for n in range(lanes - 1)]
        fire, sends = Signal(), Signal()
        m.d.comb += [
            sends.eq(~is_value | (x.payload.stop != 0) | place[-1]),
            fire.eq(x.valid & (y.ready | ~sends)),
            x.ready.eq(fire),
            y.valid.eq(fire & sends),
        ]
        joined = [here | Mux(place[n], element, 0) for n, here in enumerate([*kept, element & 0])]
        with m.If(fire):
            m.d.sync += place.eq(Mux(sends, 1, place.rotate_left(1)))
            m.d.sync += [here.eq(Mux(sends, 0, joined[n])) for n, here in enumerate(kept)]
        lacks = Signal(range(lanes))
        for n in range(lanes):
            with m.If(place[n]):
                m.d.comb += lacks.eq(lanes - 1 - n)
        low = x.payload.data[: len(x.payload.stop)]
        slice_ = [value ^ fill for value in joined]
        data = Cat(*slice_, lacks) if self.params.counts else Cat(*slice_)
        m.d.comb += [
            y.payload.kind.eq(x.payload.kind),
            y.payload.stop.eq(x.payload.stop),
            y.payload.data.eq(Mux(is_value, data, low)),
        ]
        return m
