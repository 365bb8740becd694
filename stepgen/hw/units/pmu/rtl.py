"""Stores chunks in pages on chip, and reads them by reference."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory

from ....ir.wire import BARE, DONE, TILE_LEVELS, VALUE
from ...design import stages
from ...elements import reduced
from ...fifo import Fifo
from ...primitives import BlockRam, counter, delayed
from ...unit import UnitCore


class PmuCore(UnitCore):
    """Stores chunks in free pages, and sends them once their references come back.

    One actor writes: it takes a page with the first beat of a chunk and with the last of a page,
    which it links to the next one. Pages are new ones until all were used, then those of a queue
    of free ones. Another actor looks up where a reference leads; the last one reads, and in the
    last pass over a chunk puts each page into the queue. Since one actor alone takes pages, no more
    than one chunk is ever half stored.

    Parameters
    ----------
    unit.params : level, count, counted, inner, ref_base, pages, page, fixed, largest, bits
        See `Pmu`.

    Notes
    -----
    One beat per cycle in and out, across pages, passes and chunks as well; a chunk that is not read
    takes a cycle or two per page. From the last beat of a chunk three cycles to its first at the
    memory, whose latency follows. Cost: the memory, the queue of free pages and two copies of the
    table that links pages. Streams of different structure raise ``error``, and so does a chunk
    that needs more than all pages.
    """

    def elaborate(self, platform):
        m = Module()
        params = self.params
        free, starts, *elements = params.queues(self.unit, self.design)
        m.submodules.free = self.free = Fifo(free)
        m.submodules.starts = self.starts = Fifo(starts)
        depth = params.pages * params.page
        m.submodules.ram = self.ram = BlockRam(params.width(self.unit, self.design), depth)
        self.written, self.fetched, self.ahead = self._table(m)
        too_large = self._store(m)
        self._fetch(m)
        ref = None
        if params.count is None:
            ref = reduced(m, self.ref, params.ref_base, *elements) if elements else self.ref
        mismatch = self._read(m, ref)
        m.d.sync += self.error.eq(too_large | mismatch)
        return m

    def _table(self, m):
        """The table's write port, and two ports that read it in the same cycle."""
        if self.params.fixed:
            return None, None, None
        ports = []
        for n in range(2):
            m.submodules[f"table_{n}"] = rows = memory.Memory(
                shape=self.params.entry_bits,
                depth=self.params.pages,
                init=[],
                attrs={"ram_style": "distributed"},
            )
            ports.append((rows.write_port(), rows.read_port(domain="comb")))
        (write, first), (copy, second) = ports
        m.d.comb += [copy.en.eq(write.en), copy.addr.eq(write.addr), copy.data.eq(write.data)]
        return write, first, second

    def _address(self, page, offset):
        """A word's address: fixed pages are named by their first address."""
        if self.params.fixed:
            return page + offset
        return Cat(offset, page)[: len(self.ram.w_addr)]

    def _store(self, m):
        """The actor that writes; returns whether a chunk has too many beats."""
        x, made, params = self.x, self.made, self.params
        kind, stop = x.payload.kind, x.payload.stop
        low = x.payload.data[: len(stop)]
        level = params.level
        outer, closes = Signal(), Signal()
        open_, crosses, needs, go = Signal(), Signal(), Signal(), Signal()
        first, current = Signal(params.page_bits), Signal(params.page_bits)
        page, head = Signal(params.page_bits), Signal(params.page_bits)
        is_new, new = Signal(init=1), Signal(params.page_bits)
        offset, last = self._place(m, go & ~outer, closes)

        step = params.page if params.fixed else 1
        m.d.comb += [
            outer.eq((kind == DONE) | (kind == BARE) & (low > level)),
            closes.eq(~outer & (stop >= level)),
            crosses.eq(Const(0) if params.fixed else last & ~outer & ~closes),
            needs.eq(~outer & ~open_ | crosses),
            head.eq(Mux(is_new, new, self.free.r.payload)),
            go.eq(
                x.valid & (made.ready | ~outer & ~closes) & (~needs | is_new | self.free.r.valid)
            ),
            x.ready.eq(go),
            self.free.r.ready.eq(go & needs & ~is_new),
            page.eq(Mux(open_, current, head)),
            self.ram.w_en.eq(go & ~outer),
            self.ram.w_addr.eq(self._address(page, offset)),
            self.ram.w_data.eq(self._word()),
            made.valid.eq(go & (outer | closes)),
            made.payload.kind.eq(Mux(outer, kind, VALUE)),
            made.payload.stop.eq(Mux(kind == DONE, 0, stop - level)),
            made.payload.data.eq(
                Mux(outer, Mux(kind == DONE, 0, low - level), Mux(open_, first, head))
            ),
        ]
        with m.If(go & needs & is_new):
            m.d.sync += [new.eq(new + step), is_new.eq(new != (params.pages - 1) * step)]
        with m.If(go & ~outer):
            m.d.sync += [
                open_.eq(~closes),
                current.eq(Mux(crosses, head, page)),
            ]
            with m.If(~open_):
                m.d.sync += first.eq(head)
        if self.written is not None:
            m.d.comb += [
                self.written.en.eq(go & (closes | crosses)),
                self.written.addr.eq(page),
                self.written.data.eq(Cat(closes, Mux(closes, offset, head))),
            ]
        if params.fixed:
            return go & ~outer & (closes != last)
        used = Signal(range(params.pages + 1))
        with m.If(go & closes):
            m.d.sync += used.eq(0)
        with m.Elif(go & needs):
            m.d.sync += used.eq(used + 1)
        return x.valid & crosses & (used == params.pages)

    def _place(self, m, step, closes):
        """Where in a page the next word is written, and whether that is its last place."""
        page = self.params.page
        if self.params.fixed:
            return counter(m, step, page)
        offset, last = Signal(self.params.offset_bits), Signal()
        with m.If(step):
            m.d.sync += [
                offset.eq(Mux(closes, 0, offset + 1)),
                last.eq(~closes & (offset == page - 2)),
            ]
        return offset, last

    def _word(self):
        """What is stored of a beat: the stop of one that closes a chunk follows from elsewhere."""
        payload, inner = self.x.payload, (self.params.level - 1).bit_length()
        width = self.params.data_bits(self.unit, self.design)
        fields = [payload.data[:width], payload.stop[:inner]]
        return Cat(*fields) if self.params.fixed else Cat(*fields, payload.kind == BARE)

    def _fetch(self, m):
        """The actor that looks up the entry of a reference's page."""
        read, starts = self.read, self.starts.w
        m.d.comb += [
            starts.valid.eq(read.valid),
            read.ready.eq(starts.ready),
            starts.payload.kind.eq(read.payload.kind),
            starts.payload.stop.eq(read.payload.stop),
        ]
        data = read.payload.data[: self.params.page_bits]
        if self.fetched is None:
            m.d.comb += starts.payload.data.eq(read.payload.data)
            return
        low = read.payload.data[: len(read.payload.data)]
        is_value = read.payload.kind == VALUE
        m.d.comb += [
            self.fetched.addr.eq(data),
            starts.payload.data.eq(Mux(is_value, Cat(data, self.fetched.data), low)),
        ]

    def _read(self, m, ref):
        """The actor that reads; returns whether streams have different structures."""
        params, start, y = self.params, self.starts.r, self.y
        is_chunk = start.payload.kind == VALUE
        start_low = start.payload.data[: len(start.payload.stop)]
        by = params.levels + params.above

        # What there is to do: `word` of a chunk, `own` beat that is none, `drops` a page unread
        word, own, drops, final = (Signal(name=n) for n in ("word", "own", "drops", "final"))
        kind, stop, low = (Signal.like(f) for f in (y.payload.kind, y.payload.stop, y.payload.stop))
        pops_ref = Signal()
        go, closes, ends = self._walk(m, drops, final)
        step = Signal()  # what there is to do is done
        m.d.comb += [
            step.eq((y.ready | drops & ~closes) & (word | own | drops)),
            go.eq(step & (word | drops)),
            y.valid.eq(word | own | drops & closes),
        ]

        mismatch = Const(0)
        if ref is None:
            passes = Signal(range(params.count))
            m.d.comb += [
                word.eq(start.valid & is_chunk),
                own.eq(start.valid & ~is_chunk),
                final.eq(passes == params.count - 1),
                kind.eq(start.payload.kind),
                stop.eq(
                    Mux(
                        is_chunk & ~final,
                        params.levels,
                        Mux(start.payload.kind == DONE, 0, start.payload.stop + by),
                    )
                ),
                low.eq(Mux(start.payload.kind == DONE, 0, start_low + by)),
            ]
            with m.If(go & closes):
                m.d.sync += passes.eq(Mux(final, 0, passes + 1))
            m.d.comb += start.ready.eq(step & (own | closes & final))
        else:
            e, inner = ref.payload, params.inner
            low_e = e.data[: len(e.stop)]
            hole, alone, both = Signal(), Signal(), Signal()
            m.d.comb += [
                hole.eq((e.kind == BARE) & (low_e <= inner)),
                alone.eq(ref.valid & hole & (e.stop < inner)),
                both.eq(ref.valid & start.valid & (start.payload.kind == Mux(hole, VALUE, e.kind))),
                final.eq(e.stop >= inner),
                word.eq(both & is_chunk & ~hole),
                drops.eq(both & hole & final),
                own.eq(alone | both & ~is_chunk),
                kind.eq(e.kind),
                stop.eq(Mux(e.kind == DONE, 0, e.stop + params.levels)),
                low.eq(Mux(e.kind == DONE, 0, low_e + params.levels)),
                pops_ref.eq(step & (own | closes)),
                ref.ready.eq(pops_ref),
                start.ready.eq(step & ~alone & (own | closes & final)),
            ]
            other_stop = start.payload.stop != (e.stop - inner)[: len(start.payload.stop)]
            mismatch = (
                ref.valid & start.valid & ~alone & (~both | (e.kind != DONE) & final & other_stop)
            )

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        data, stored, bare = self._split(self.ram.r_data)
        explicit = own | drops
        stored = Mux(late(closes), late(stop), stored)
        if params.shape:
            stored = Mux(late(ends[0]), late(ends[1]), stored)
        m.d.comb += [
            y.payload.kind.eq(Mux(late(explicit), late(kind), Mux(bare, BARE, VALUE))),
            y.payload.stop.eq(Mux(late(explicit), late(stop), stored)),
            y.payload.data.eq(Mux(late(explicit), late(low), data)),
        ]
        return mismatch

    def _split(self, word):
        """Data, stop and whether it is an empty token, of a word of the memory."""
        inner = (self.params.level - 1).bit_length()
        width = self.params.data_bits(self.unit, self.design)
        data, stop = word[:width], word[width : width + inner]
        return data, stop, Const(0) if self.params.fixed else word[-1]

    def _walk(self, m, drops, final):
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
        params, start = self.params, self.starts.r
        go, closes = Signal(name="go"), Signal(name="closes")
        named = start.payload.data[: params.page_bits]
        if params.fixed:
            return self._walk_fixed(m, go, closes, named, drops, final)
        entry = start.payload.data[params.page_bits : params.page_bits + params.entry_bits]
        first = Signal(init=1)
        current, linked = Signal(params.page_bits), Signal(params.entry_bits)
        offset = Signal(params.offset_bits)
        looked = Signal(params.entry_bits)
        page, here = Signal(params.page_bits), Signal(params.entry_bits)
        last, crosses, turns = Signal(), Signal(), Signal()
        m.d.comb += [
            page.eq(Mux(first, named, current)),
            here.eq(Mux(first, entry, linked)),
            last.eq(here[0]),
            self.ahead.addr.eq(here[1:][: params.page_bits]),
            closes.eq(last & (drops | (offset == here[1:][: params.offset_bits]))),
            crosses.eq(~last & Mux(drops, offset != 0, offset.all())),
            turns.eq(closes | crosses),
            self.ram.r_addr.eq(self._address(page, offset)),
            self.free.w.valid.eq(go & turns & final),
            self.free.w.payload.eq(page),
        ]
        m.d.sync += looked.eq(self.ahead.data)
        with m.If(go):
            m.d.sync += [
                first.eq(closes),
                current.eq(Mux(crosses, here[1:][: params.page_bits], page)),
                linked.eq(Mux(crosses, looked, here)),
                offset.eq(Mux(turns, 0, offset + 1)),
            ]
        return go, closes, (Const(0), Const(0))

    def _walk_fixed(self, m, go, closes, named, drops, final):
        """Chunks of one page: all words in order, or tile by tile."""
        params = self.params
        m.d.comb += [
            self.free.w.valid.eq(go & closes & final),
            self.free.w.payload.eq(named),
        ]
        ends = Const(0), Const(0)
        if params.shape:
            place, last, ends = self._affine(m, go & ~drops)
        else:
            place, last = counter(m, go & ~drops, params.page)
        m.d.comb += [
            closes.eq(drops | last),
            self.ram.r_addr.eq(self._address(named, place)),
        ]
        return go, closes, ends

    def _affine(self, m, go):
        """The place of a word, whether it is the last, and whether and how a tile ends."""
        params = self.params
        place = Signal(params.offset_bits)
        _, full = counter(m, go, params.tile)
        ends, wraps, back = [full], 0, params.tile - 1
        jump, stop = Const(1), Const(0)
        dims = list(zip(reversed(params.shape), reversed(params.stride), strict=True))
        for n, (extent, by) in enumerate(dims):
            # This dim is the innermost that does not wrap.
            jump = Mux(ends[-1], (by * params.tile - back) % (1 << len(place)), jump)
            stop = Mux(ends[-1], TILE_LEVELS + n, stop)
            _, wraps = counter(m, go & ends[-1], extent)
            back += (extent - 1) * by * params.tile
            ends.append(ends[-1] & wraps)
        last = ends[-1]
        with m.If(go):
            m.d.sync += place.eq(Mux(last, 0, (place + jump)[: len(place)]))
        return place, last, (full & ~last, stop)
