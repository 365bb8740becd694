"""Chunks of several streams become one stream, as a selector says."""

from amaranth.hdl import Cat, Module, Mux, Signal

from ...ir.wire import BARE, DONE, VALUE
from ..onehot import lowest, select
from ..unit import UnitCore


class Core(UnitCore):
    """Takes one chunk from every input that is selected, never interleaved (Reassemble).

    The selector waits in a register, so does the input in turn, one bit per input. With the last
    beat of a chunk the next input is picked, with the last chunk of a selector the next selector
    is taken. In order of arrival the pick falls on the lowest input among those that have a beat
    waiting beside the one just taken; if there is none, the unit looks again in every cycle. Only
    the last input of a selector is picked without a look.

    Parameters
    ----------
    unit.params : level : int; order : "index" or "arrival"

    Notes
    -----
    One beat per cycle, across chunks and selectors as well (in order of arrival as long as
    another input has its chunk ready, or only one is left). Latency 1 for the first selector and
    after a gap, else 0 beside the FIFOs'. An AND-OR tree of the payload's width over the inputs; no
    path depends on more than the logarithm of their number. An input that ends where the selector
    names it raises ``error`` and stops the unit, so does one that goes on after the selector's end.
    """

    def elaborate(self, platform):
        m = Module()
        (*xs, sel), (y,) = self.inputs, self.outputs
        count, level = len(xs), self.params["level"]

        loaded = Signal()
        kind = Signal.like(sel.payload.kind)
        stop = Signal.like(y.payload.stop)  # of the selector's last beat, at the output
        low = Signal.like(y.payload.stop)
        hollow = Signal()  # the selector, or its group, selects nothing
        current = Signal(count)
        remaining = Signal(count)
        last = Signal()  # nothing remains
        m.d.comb += last.eq(remaining == 0)

        layout = xs[0].payload.shape()
        head = Signal(layout)
        present = Signal()
        ended = Signal()
        closes = Signal()
        m.d.comb += [
            head.eq(select(current, [x.payload.as_value() for x in xs])),
            present.eq((Cat(x.valid & (x.payload.kind != DONE) for x in xs) & current).any()),
            ended.eq((Cat(x.valid & (x.payload.kind == DONE) for x in xs) & current).any()),
            closes.eq((Cat(x.payload.stop >= level for x in xs) & current).any()),
        ]
        all_there = Cat(x.valid for x in xs).all()
        all_done = Cat(x.payload.kind == DONE for x in xs).all()

        chunk = Signal()
        emit = Signal()
        finish = Signal()
        with m.If(loaded & (kind == DONE)):
            m.d.comb += [emit.eq(all_there & all_done), finish.eq(emit & y.ready)]
        with m.Elif(loaded & hollow):
            m.d.comb += [emit.eq(1), finish.eq(y.ready)]
        with m.Else():
            m.d.comb += [emit.eq(present), chunk.eq(present & y.ready)]
            m.d.comb += finish.eq(chunk & closes & last)

        load = Signal()
        pick = Signal()
        pool = Signal(count)
        m.d.comb += [
            load.eq(sel.valid & (~loaded | finish)),
            sel.ready.eq(load),
            pick.eq(load | finish | chunk & closes | loaded & (current == 0)),
        ]
        named = (sel.valid & (sel.payload.kind == VALUE)).replicate(count) & sel.payload.data
        m.d.comb += pool.eq(Mux(~loaded | finish, named, remaining))
        picked = self._picked(m, pool, current, Cat(x.valid for x in xs))
        with m.If(pick):
            m.d.sync += [current.eq(picked), remaining.eq(pool & ~picked)]
        with m.If(~loaded | finish):
            m.d.sync += loaded.eq(load)
        with m.If(load):
            sel_low = sel.payload.data[: len(sel.payload.stop)]
            m.d.sync += [
                kind.eq(sel.payload.kind),
                stop.eq(sel.payload.stop + (level + 1)),
                low.eq(Mux(sel.payload.kind == BARE, sel_low, 0) + (level + 1)),
                hollow.eq((sel.payload.kind == BARE) | ~pool.any()),
            ]

        m.d.comb += [
            y.valid.eq(emit),
            y.payload.kind.eq(head.kind),
            y.payload.stop.eq(Mux(closes & last, stop, head.stop)),
            y.payload.data.eq(head.data),
        ]
        with m.If(kind == DONE):
            m.d.comb += [y.payload.kind.eq(DONE), y.payload.stop.eq(0)]
        with m.Elif(hollow):
            m.d.comb += [
                y.payload.kind.eq(BARE),
                y.payload.stop.eq(stop),
                y.payload.data.eq(low),
            ]
        end = finish & (kind == DONE)
        for x, bit in zip(xs, current, strict=True):
            m.d.comb += x.ready.eq(chunk & bit | end)
        m.d.sync += self.error.eq(
            loaded & Mux(kind == DONE, all_there & ~all_done, ~hollow & ended)
        )
        return m

    def _picked(self, m, pool, current, waiting):
        """The next input, one bit; none where nothing is left, or nothing has arrived."""
        first = Signal.like(pool)
        m.d.comb += first.eq(lowest(m, pool))
        if self.params["order"] == "index":
            return first
        arrived = Signal.like(pool)
        picked = Signal.like(pool)
        m.d.comb += [
            arrived.eq(pool & waiting & ~current),
            picked.eq(Mux(first == pool, pool, lowest(m, arrived))),
        ]
        return picked
