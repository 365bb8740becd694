"""Finds the number of the largest or smallest element of a group."""

from amaranth.hdl import Const, Module, Mux, Signal

from stepgen.hw.arithmetic.circuits import order
from stepgen.hw.primitives import counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import ANY_NUMBER, BARE, DONE, TILE_LEVELS, VALUE


class LocateCore(UnitCore):
    """Map and Accum of argmax and argmin.

    The lanes of a beat are compared in a tree, and its best with the best so far, which stays where
    both are equal.

    Parameters
    ----------
    unit.params : Locate

    Notes
    -----
    One beat per cycle. Latency 2, and 1 for each level of the tree over the lanes. Cost: a
    comparator for each lane, and registers for a number of its order and its place. A row of
    another number of beats, or a chunk without elements, raises ``error``; the latter stays where
    it is.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, y, params = self.x, self.y, self.params
        kind, stop = x.payload.kind, x.payload.stop
        low = x.payload.data[: len(stop)]
        value, above, ends, empty, found, fire, takes = (
            Signal(name=n) for n in ("value", "above", "ends", "empty", "found", "fire", "takes")
        )
        m.d.comb += [
            value.eq(kind == VALUE),
            above.eq((kind == DONE) | ((kind == BARE) & (low > params.level))),
            ends.eq(above | (stop >= params.level)),
            empty.eq(ends & ~above & ~value & ~found),
            fire.eq(x.valid & (y.ready | ~ends) & ~empty),
            takes.eq(fire & value),
            x.ready.eq(fire),
            y.valid.eq(fire & ends),
        ]
        with m.If(fire):
            m.d.sync += found.eq(~ends & (found | value))
        _, last = counter(m, takes, params.slices(self.design.lanes))
        m.d.sync += self.error.eq((takes & ((stop != 0) != last)) | (x.valid & empty))

        place = self._place(m, fire, takes, ends, last, ~found)
        stages = params.delay(self.design.lanes)

        def late(signal):
            return delayed(m, signal, stages, reset_less=True)

        made = late(Mux(above, kind, VALUE))
        lower = late(Mux(kind == DONE, 0, low - params.lowered)[: len(stop)])
        closes = late(Mux(kind == DONE, 0, stop - params.lowered)[: len(y.payload.stop)])
        m.d.comb += [
            y.payload.kind.eq(made),
            y.payload.stop.eq(closes),
            y.payload.data.eq(Mux(made == VALUE, place, lower)),
        ]
        return m

    def _place(self, m, fire, takes, ends, last, first):
        """The number of the best element so far, `delay` cycles after its beat."""
        params, lanes = self.params, self.design.lanes
        rest = params.columns - (params.slices(lanes) - 1) * lanes
        most = ANY_NUMBER if params.level > TILE_LEVELS else params.columns - 1
        base = Signal(range(most + 1))
        with m.If(fire & ends):
            m.d.sync += base.eq(0)
        with m.Elif(takes):
            m.d.sync += base.eq(base + Mux(last, rest, lanes))

        key = order.falling_key if params.smallest else order.key
        bits, stages = params.of.bits, 1
        made = []
        for n in range(lanes):
            one = key(self.x.payload.data.word_select(n, bits), params.of)
            if n >= rest:
                one = Mux(last, 0, one)
            made.append(
                (delayed(m, one, 1, reset_less=True), Const(n, max(1, (lanes - 1).bit_length())))
            )
        while len(made) > 1:
            stages += 1
            made = [self._better(m, *two) for two in zip(made[::2], made[1::2], strict=True)]
        ((highest, lane),) = made

        best, at = Signal(bits, reset_less=True), Signal(len(base), reset_less=True)
        begins = delayed(m, first, stages, reset_less=True)
        here = delayed(m, base, stages, reset_less=True)
        with m.If(delayed(m, takes, stages) & (begins | (highest > best))):
            m.d.sync += [best.eq(highest), at.eq(here + lane)]
        if not params.makes_addresses:
            return at
        wire = self.channels["y"].bits
        return at[:wire] | at[wire:].any().replicate(min(wire, len(at)))

    def _better(self, m, left, right):
        """The larger of two keys, and where it is; of equal ones the left one, a cycle later."""
        takes_left = left[0] >= right[0]
        return tuple(
            delayed(m, Mux(takes_left, a, b), 1, reset_less=True)
            for a, b in zip(left, right, strict=True)
        )
