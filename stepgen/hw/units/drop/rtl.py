"""Removes flagged elements."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.lookahead import Lookahead
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class DropCore(UnitCore):
    """Drops the elements whose flag is set (FlatMap with padding).

    With ``hold`` there is a holding register: the last beat of a kept element leaves once the next
    kept element arrives, or with the stop of its group if none follows. A group of which nothing
    is kept becomes an empty group. Empty tokens among the flags are skipped.

    Parameters
    ----------
    unit.params : hold : bool

    Notes
    -----
    One beat per cycle, also while dropping. Latency 0 in addition to the FIFOs' and a handful of
    LUTs; with ``hold`` one cycle and one beat of registers. Flags that end before x does, or after
    it, raise ``error`` and stop the unit.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        x, flags, y = self.x, self.flags, self.y
        stop = x.payload.stop
        ends = x.payload.kind == DONE
        low = x.payload.data[: len(stop)]

        group = Signal()  # an empty group of elements: it has no flag
        dropped = Signal()
        closes = Signal()  # the last beat of an element or of the stream: consumes its flag
        both = Signal()
        skip = Signal()
        fits = Signal()
        there = Signal()
        m.d.comb += [
            group.eq((x.payload.kind == BARE) & (low > TILE_LEVELS)),
            dropped.eq(~ends & ~group & flags.payload.data[0]),
            closes.eq((stop >= TILE_LEVELS) | (x.payload.kind != VALUE)),
            # Regardless of x: x may wait for a flag behind an empty one.
            skip.eq(flags.valid & (flags.payload.kind == BARE)),
            both.eq(x.valid & ~group & flags.valid & ~skip),
            fits.eq(ends == (flags.payload.kind == DONE)),
            there.eq(x.valid & group | both & fits),
        ]
        m.d.sync += self.error.eq(both & ~fits)

        take = Signal()
        m.d.comb += x.ready.eq(take)
        if not self.params.hold:
            m.d.comb += [
                take.eq(there & (dropped | y.ready)),
                flags.ready.eq(skip | take & closes & ~group),
                y.valid.eq(there & ~dropped),
                y.payload.kind.eq(x.payload.kind),
                y.payload.stop.eq(stop),
                y.payload.data.eq(x.payload.data),
            ]
            return m

        m.submodules.ahead = ahead = Lookahead(self.channels["y"])
        ends_group = stop > TILE_LEVELS
        waiting = Signal()
        emptied = Signal()  # nothing of the group was kept
        absorbed = Signal()
        passes = Signal()  # a beat that produces none may be taken
        m.d.comb += [
            ahead.wait.eq((ahead.held.kind != DONE) & (ahead.held.stop == TILE_LEVELS)),
            waiting.eq(ahead.held_valid & ahead.wait),
            emptied.eq(dropped & ends_group & ~waiting),
            absorbed.eq(dropped & ~emptied),
            passes.eq(waiting | ahead.i.ready),
            take.eq(there & Mux(absorbed, passes, ahead.i.ready)),
            flags.ready.eq(skip | take & closes & ~group),
            ahead.i.valid.eq(there & ~absorbed),
            ahead.i.payload.kind.eq(Mux(emptied, BARE, x.payload.kind)),
            ahead.i.payload.stop.eq(stop),
            ahead.i.payload.data.eq(Mux(emptied, TILE_LEVELS + 1, x.payload.data)),
            ahead.restop.eq(there & absorbed & waiting & ends_group),
            ahead.restop_level.eq(stop),
            y.valid.eq(ahead.o.valid),
            y.payload.eq(ahead.o.payload),
            ahead.o.ready.eq(y.ready),
        ]
        return m
