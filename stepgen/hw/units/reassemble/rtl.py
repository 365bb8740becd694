"""Merges chunks of the streams that a selector names."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.onehot import lowest, select
from stepgen.hw.stream import is_done
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, VALUE


class ReassembleCore(UnitCore):
    """Takes one chunk from every input that is selected, never interleaved (Reassemble).

    The selector and the current input (one-hot) are in registers. With the last beat of a chunk the
    next input is picked, with the last chunk of a selector the next selector is loaded. In order of
    arrival the unit picks the lowest-numbered input with a beat waiting, apart from the beat just
    consumed, and retries in every cycle while there is none; the last input of a selector is picked
    without that condition. The done beat of the selectors is passed on at once, so that loops end;
    the run lasts until those of all inputs are consumed, in one cycle.

    Parameters
    ----------
    unit.params : Reassemble

    Notes
    -----
    One beat per cycle, across chunks and selectors as well (in order of arrival as long as
    another input has its chunk ready, or only one is left). Latency 1 for the first selector,
    after a gap, and for consuming the done beats; else 0 in addition to the FIFOs'. An AND-OR
    tree of the payload's width over the inputs; the depth of logic grows with the logarithm of
    their number. An input that ends where the selector names it raises ``error`` and stops the
    unit, so does one that goes on after the selector's end.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    finishes = True

    def elaborate(self, platform):
        m = Module()
        *xs, sel = self.inputs
        y, count, level = self.y, len(xs), self.params.level

        loaded = Signal()
        current, remaining = Signal(count), Signal(count)
        stop = Signal.like(y.payload.stop)  # of the selector's last beat
        # A selector that sends a beat of its own: nothing selected, an empty group, or the end
        special, ends = Signal(), Signal()
        low = Signal.like(y.payload.stop)

        valid = Cat(x.valid for x in xs)
        over = Cat(x.valid & is_done(x.payload) for x in xs)
        all_over = Signal()  # registered: they stay valid until consumed
        sent = Signal()  # the done beat has been sent
        present, closing, last = Signal(), Signal(), Signal()
        next_selector, next_chunk = Signal(), Signal()
        send_special = special & ~sent
        take_ends = sent & all_over
        # What is asked of a beat is asked of the one that is selected, not of each input's.
        beat = Signal.like(xs[0].payload)
        m.d.comb += beat.eq(select(current, [x.payload.as_value() for x in xs]))
        here = (valid & current).any()
        m.d.comb += [
            present.eq(here & ~is_done(beat)),
            closing.eq(present & (beat.stop >= level)),
            last.eq(remaining == 0),
            next_selector.eq(~loaded | take_ends | y.ready & (special & ~ends | closing & last)),
            next_chunk.eq(y.ready & closing | loaded & ~special & (current == 0)),
            sel.ready.eq(next_selector),
        ]
        for x, bit in zip(xs, current, strict=True):
            m.d.comb += x.ready.eq(take_ends | y.ready & bit & x.valid)
        m.d.sync += [
            all_over.eq(over.all()),
            self.error.eq(here & is_done(beat) | ends & (valid & ~over).any()),
        ]
        with m.If(take_ends):
            m.d.sync += sent.eq(0)
        with m.Elif(ends & y.ready):
            m.d.sync += sent.eq(1)
        with m.If(~self.running):
            m.d.sync += self.finished.eq(0)
        with m.Elif(take_ends):
            m.d.sync += self.finished.eq(1)

        m.d.comb += [
            y.valid.eq(present | send_special),
            y.payload.kind.eq(beat.kind | Mux(special, Mux(ends, DONE, BARE), 0)),
            y.payload.stop.eq(Mux(closing & last | special, stop, beat.stop)),
            y.payload.data.eq(beat.data | Mux(special, low, 0)),
        ]

        mask = sel.payload.data[:count]
        first = self._pick(m, mask, valid & ~current)
        following = self._pick(m, remaining, valid)
        opens = sel.valid & (sel.payload.kind == VALUE)
        is_bare, is_end = sel.payload.kind == BARE, sel.payload.kind == DONE
        selector_low = Mux(is_bare, sel.payload.data[: len(sel.payload.stop)], 0)
        with m.If(next_selector):
            m.d.sync += [
                loaded.eq(sel.valid),
                current.eq(first & opens.replicate(count)),
                remaining.eq(mask & ~first & opens.replicate(count)),
                special.eq(sel.valid & ~(opens & mask.any())),
                ends.eq(sel.valid & is_end),
                stop.eq(Mux(is_end, 0, sel.payload.stop + (level + 1))),
                low.eq(Mux(is_end, 0, selector_low + (level + 1))),
            ]
        with m.Elif(next_chunk):
            m.d.sync += [current.eq(following), remaining.eq(remaining & ~following)]
        return m

    def _pick(self, m, pool, waiting):
        """One of the pool (one-hot), or none if none is left or none of them has arrived."""
        first = Signal(len(pool))
        m.d.comb += first.eq(lowest(m, pool))
        if self.params.order == "index":
            return first
        picked = Signal.like(first)
        m.d.comb += picked.eq(Mux(first == pool, pool, lowest(m, pool & waiting)))
        return picked
