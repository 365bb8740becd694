"""One output of a PMU: reads chunks by their references."""

from amaranth.hdl import Cat, Const, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.primitives import counter, delayed
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE

__all__ = ["Reader", "word_address"]


class Reader:
    """The actor that reads chunks for one output.

    Parameters
    ----------
    params : Pmu
    n : int
        The number of the output.
    start, y : stream
        References with table entries; the output.
    ref : stream or None
        A beat for each reading, if no count determines these.
    granted : Value
        Whether it has the memory in this cycle. Then it goes on, if it wants to.

    Attributes
    ----------
    wants : Signal
        Whether it can go on; once it can, nothing else prevents it.
    address : Signal
        The word that it reads.
    next : Signal
        The page whose table entry it needs next.
    frees, page : Signal
        The page that it reads is free, unless references are counted.
    returns, named : Signal
        The chunk with this first page was read for the last time.
    mismatch : Value
        Whether streams have different structures.
    """

    def __init__(self, params, n, start, y, ref, granted):
        self.params, self.reading = params, params.readings[n]
        self.start, self.y, self.ref, self.granted = start, y, ref, granted
        self.wants, self.frees, self.returns = (
            Signal(name=f"{name}_{n}") for name in ("wants", "frees", "returns")
        )
        self.page, self.named, self.next = (
            Signal(params.page_bits, name=f"{name}_{n}") for name in ("page", "named", "next")
        )
        self.address = Signal(range(params.pages * params.page), name=f"address_{n}")
        self.mismatch = Const(0)

    def build(self, m, word, looked):
        """Add the actor to `m`; `word` is what the memory gives, `looked` the entry of `next`."""
        params, start, y, ref = self.params, self.start, self.y, self.ref
        levels, above = params.levels(self.reading), self.reading.above
        is_chunk = start.payload.kind == VALUE
        start_low = start.payload.data[: len(start.payload.stop)]
        by = levels + above

        # What there is to do: `some` word of a chunk, `own` beat (not a chunk), `drops` one unread
        some, own, drops, final = (Signal(name=n) for n in ("some", "own", "drops", "final"))
        kind, stop, low = (Signal.like(f) for f in (y.payload.kind, y.payload.stop, y.payload.stop))
        pops_ref = Signal()
        go, closes, ends = self._walk(m, drops, final, looked)
        step = Signal()  # what there is to do is done
        m.d.comb += [
            self.wants.eq((y.ready | drops & ~closes) & (some | own | drops)),
            step.eq(self.wants & self.granted),
            go.eq(step & (some | drops)),
            y.valid.eq((some | own | drops & closes) & self.granted),
            self.returns.eq(go & closes & final),
        ]

        if ref is None:
            passes = Signal(range(self.reading.count))
            m.d.comb += [
                some.eq(start.valid & is_chunk),
                own.eq(start.valid & ~is_chunk),
                final.eq(passes == self.reading.count - 1),
                kind.eq(start.payload.kind),
                stop.eq(
                    Mux(
                        is_chunk & ~final,
                        levels,
                        Mux(start.payload.kind == DONE, 0, start.payload.stop + by),
                    )
                ),
                low.eq(Mux(start.payload.kind == DONE, 0, start_low + by)),
            ]
            with m.If(go & closes):
                m.d.sync += passes.eq(Mux(final, 0, passes + 1))
            m.d.comb += start.ready.eq(step & (own | closes & final))
        else:
            e, inner = ref.payload, self.reading.inner
            low_e = e.data[: len(e.stop)]
            hole, alone, both = Signal(), Signal(), Signal()
            m.d.comb += [
                hole.eq((e.kind == BARE) & (low_e <= inner)),
                alone.eq(ref.valid & hole & (e.stop < inner)),
                both.eq(ref.valid & start.valid & (start.payload.kind == Mux(hole, VALUE, e.kind))),
                final.eq(e.stop >= inner),
                some.eq(both & is_chunk & ~hole),
                drops.eq(both & hole & final),
                own.eq(alone | both & ~is_chunk),
                kind.eq(e.kind),
                stop.eq(Mux(e.kind == DONE, 0, e.stop + levels)),
                low.eq(Mux(e.kind == DONE, 0, low_e + levels)),
                pops_ref.eq(step & (own | closes)),
                ref.ready.eq(pops_ref),
                start.ready.eq(step & ~alone & (own | closes & final)),
            ]
            other_stop = start.payload.stop != (e.stop - inner)[: len(start.payload.stop)]
            self.mismatch = (
                ref.valid & start.valid & ~alone & (~both | (e.kind != DONE) & final & other_stop)
            )

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        data, stored, bare = word
        explicit = own | drops
        stored = Mux(late(closes), late(stop), stored)
        if self.reading.shape:
            stored = Mux(late(ends[0]), late(ends[1]), stored)
        m.d.comb += [
            y.payload.kind.eq(Mux(late(explicit), late(kind), Mux(bare, BARE, VALUE))),
            y.payload.stop.eq(Mux(late(explicit), late(stop), stored)),
            y.payload.data.eq(Mux(late(explicit), late(low), data)),
        ]

    def _walk(self, m, drops, final, looked):
        """Where in a chunk the reader is.

        Returns
        -------
        go : Signal
            To be driven: the reader goes on to the next word, or page.
        closes : Signal
            What is at hand is the last of the chunk.
        ends : tuple of Signal and Value
            In an affine reading, whether a tile ends that is not the last, and its stop.
        """
        params, start = self.params, self.start
        go, closes = Signal(name="go"), Signal(name="closes")
        m.d.comb += self.named.eq(start.payload.data[: params.page_bits])
        if params.fixed:
            return self._walk_fixed(m, go, closes, drops, final)
        entry = start.payload.data[params.page_bits : params.page_bits + params.entry_bits]
        first = Signal(init=1)
        current, linked = Signal(params.page_bits), Signal(params.entry_bits)
        offset, ahead = Signal(params.offset_bits), Signal(params.entry_bits)
        here = Signal(params.entry_bits)
        last, crosses, turns, at_end = Signal(), Signal(), Signal(), Signal()
        # Pages of a chunk that nobody reads are freed one by one, where that is done here.
        one_by_one = params.shares > 0 and not params.counts
        m.d.comb += [
            self.page.eq(Mux(first, self.named, current)),
            here.eq(Mux(first, entry, linked)),
            last.eq(here[0]),
            self.next.eq(here[1:][: params.page_bits]),
            at_end.eq(last & (offset == here[1:][: params.offset_bits])),
            closes.eq(at_end | drops & (last if one_by_one else 1)),
            crosses.eq(~last & Mux(drops, offset != 0 if one_by_one else 0, offset.all())),
            turns.eq(closes | crosses),
            self.address.eq(word_address(params, self.page, offset)),
            self.frees.eq(go & turns & final),
        ]
        # A word of the page was read before the last one, so `ahead` is known then.
        with m.If(go if len(params.readings) > 1 else Const(1)):
            m.d.sync += ahead.eq(looked)
        with m.If(go):
            m.d.sync += [
                first.eq(closes),
                current.eq(Mux(crosses, self.next, self.page)),
                linked.eq(Mux(crosses, ahead, here)),
                offset.eq(Mux(turns, 0, offset + 1)),
            ]
        return go, closes, (Const(0), Const(0))

    def _walk_fixed(self, m, go, closes, drops, final):
        """Chunks of one page: all words in order, or tile by tile."""
        ends = Const(0), Const(0)
        if self.reading.shape:
            place, last, ends = self._affine(m, go & ~drops)
        else:
            place, last = counter(m, go & ~drops, self.params.largest)
        m.d.comb += [
            self.page.eq(self.named),
            self.frees.eq(go & closes & final),
            closes.eq(drops | last),
            self.address.eq(word_address(self.params, self.named, place)),
        ]
        return go, closes, ends

    def _affine(self, m, go):
        """The place of a word, whether it is the last, and whether and how a tile ends."""
        reading = self.reading
        start = reading.offset * reading.tile
        place = Signal(self.params.offset_bits, init=start)
        _, full = counter(m, go, reading.tile)
        ends, wraps, back = [full], 0, reading.tile - 1
        jump, stop = Const(1), Const(0)
        dims = list(zip(reversed(reading.shape), reversed(reading.stride), strict=True))
        for n, (extent, by) in enumerate(dims):
            # This dim is the innermost that does not wrap.
            jump = Mux(ends[-1], (by * reading.tile - back) % (1 << len(place)), jump)
            stop = Mux(ends[-1], TILE_LEVELS + n, stop)
            _, wraps = counter(m, go & ends[-1], extent)
            back += (extent - 1) * by * reading.tile
            ends.append(ends[-1] & wraps)
        last = ends[-1]
        with m.If(go):
            m.d.sync += place.eq(Mux(last, start, (place + jump)[: len(place)]))
        return place, last, (full & ~last, stop)


def word_address(params, page, offset):
    """The address of a word by its page's number, or address, and its place in the page."""
    if not params.by_number:
        return page + offset
    bits = params.page.bit_length() - 1
    return Cat(offset[:bits], Const(0, bits - len(offset[:bits])), page)
