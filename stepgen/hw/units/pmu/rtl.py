"""Stores chunks in pages on chip, and reads them by reference."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory

from stepgen.hw.design.registers import NUMBER_BITS, STRUCTURE, TOO_LARGE
from stepgen.hw.detail import detail_word
from stepgen.hw.elements import reduced
from stepgen.hw.fifo import Fifo
from stepgen.hw.onehot import select
from stepgen.hw.primitives import BlockRam, counter, read_at_once
from stepgen.hw.select import RoundRobin
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.pmu.reader import Reader, word_address
from stepgen.hw.units.pmu.shares import Shares
from stepgen.ir.wire import BARE, DONE, VALUE


class PmuCore(UnitCore):
    """Stores chunks in free pages, and sends them once their references come back.

    One actor writes: it takes a page with the first beat of a chunk and with the last of a page,
    which it links to the next one. Pages are new ones until all were used, then those of a queue
    of free ones. For each output an actor looks up where a reference leads, and one reads; several
    take turns at the memory. In the last pass over a chunk each page goes into the queue; where a
    chunk has several references, all pages do once these were counted. Since one actor alone takes
    pages, no more than one chunk is ever half stored.

    Parameters
    ----------
    unit.params : level, readings, pages, page, fixed, largest, bits, shares, rests, most, row
        See `Pmu`.

    Notes
    -----
    One beat per cycle in and out, across pages, passes and chunks as well, and for each of several
    outputs at most every second cycle. A chunk that is not read takes a cycle or two per page, or
    one where references are counted. From the last beat of a chunk three cycles to its first at the
    memory, four with several outputs; the memory's latency follows. Cost: the memory, the queue of
    free pages, copies of the table that links pages, and the counts. Streams of different
    structure raise ``error``, and so does a chunk that needs more than all pages. One with more
    than `most` rows is taken to its end, with the number of its rows so far as ``detail``; nothing
    is stored after it.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def __init__(self, unit, design):
        self.details = unit.params.most > 0
        super().__init__(unit, design)

    @property
    def finishes(self):
        """Where references are counted the run lasts until all came back."""
        return self.params.counts

    def elaborate(self, platform):
        m = Module()
        params = self.params
        queues = {c.name: c for c in params.queues(self.unit, self.design)}
        self.free = None
        if params.shares:
            m.submodules.free = self.free = Fifo(queues["free"], registered=True)
        depth = params.pages * params.page
        m.submodules.ram = self.ram = BlockRam(params.width(self.unit, self.design), depth)
        self.written, *tables = self._tables(m, platform)
        wrong = [self._store(m)]

        granted = Signal(len(params.readings)) if len(params.readings) > 1 else Const(1, 1)
        readers = []
        for n, one in enumerate(params.readings):
            m.submodules[f"starts_{n}"] = starts = Fifo(queues[f"starts_{n}"])
            fetched = tables[n] if tables else None
            self._fetch(m, getattr(self, f"read_{n}"), starts.w, fetched)
            ref = getattr(self, f"ref_{n}") if one.count is None else None
            if one.ref_base:
                ref = reduced(m, ref, one.ref_base, queues[f"elements_{n}"])
            y = getattr(self, f"y_{n}")
            readers.append(Reader(params, n, starts.r, y, ref, granted[n]))
        word, looked = self._split(self.ram.r_data), None
        if tables:
            looked = tables[len(readers)].data
            m.d.comb += tables[len(readers)].addr.eq(select(granted, [r.next for r in readers]))
        for reader in readers:
            reader.build(m, word, looked)
            wrong.append(reader.mismatch)
        m.d.comb += self.ram.r_addr.eq(select(granted, [r.address for r in readers]))
        if len(readers) > 1:
            self._take_turns(m, granted, Cat(r.wants for r in readers))
        if params.counts:
            self._count(m, readers, queues, tables)
        elif self.free is not None:
            m.d.comb += [
                self.free.w.valid.eq(Cat(r.frees for r in readers).any()),
                self.free.w.payload.eq(select(granted, [r.page for r in readers])),
            ]
        m.d.sync += self.error.eq(Cat(wrong).any())
        return m

    def _tables(self, m, platform):
        """The table's write port, and ports that read it in the same cycle."""
        if self.params.fixed:
            return (None,)
        writes, reads = [], []
        for n in range(self.params.tables):
            m.submodules[f"table_{n}"] = rows = memory.Memory(
                shape=self.params.entry_bits,
                depth=self.params.pages,
                init=[],
                attrs=read_at_once(platform),
            )
            writes.append(rows.write_port())
            reads.append(rows.read_port(domain="comb"))
        write, *copies = writes
        for copy in copies:
            m.d.comb += [copy.en.eq(write.en), copy.addr.eq(write.addr), copy.data.eq(write.data)]
        return write, *reads

    def _take_turns(self, m, granted, wants):
        """Choose who has the memory in the next cycle, but not the same again."""
        m.submodules.turns = turns = RoundRobin(len(granted))
        m.d.comb += [
            turns.asks.eq(wants & ~granted),
            turns.taken.eq(turns.asks.any()),
            turns.restart.eq(~self.running),
        ]
        m.d.sync += granted.eq(turns.grant)

    def _count(self, m, readers, queues, tables):
        """The actors that count references and free pages."""
        params = self.params
        m.submodules.returned = returned = Fifo(queues["returned"])
        m.submodules.shares = shares = Shares(params, 1 + params.rests, queues.get("heads"))
        named = select(Cat(r.granted for r in readers), [r.named for r in readers])
        rests = [getattr(self, f"rest_{n}") for n in range(params.rests)]
        sources = [
            (returned.r, returned.r.payload, Const(1)),
            *(
                (rest, rest.payload[: params.page_bits], rest.payload[params.page_bits :])
                for rest in rests
            ),
        ]
        m.d.comb += [
            returned.w.valid.eq(Cat(r.returns for r in readers).any()),
            returned.w.payload.eq(named),
            self.free.w.valid.eq(shares.free),
            self.free.w.payload.eq(shares.page),
            shares.stored.eq(self.stored),
            shares.ended.eq(self.made.valid & (self.made.payload.kind == DONE)),
            shares.running.eq(self.running),
            self.finished.eq(shares.finished),
        ]
        for n, (source, page, amount) in enumerate(sources):
            m.d.comb += [
                shares.valid[n].eq(source.valid),
                source.ready.eq(shares.ready[n]),
                getattr(shares, f"page_{n}").eq(page),
                getattr(shares, f"amount_{n}").eq(amount),
            ]
        if tables:
            m.d.comb += [tables[-1].addr.eq(shares.link), shares.entry.eq(tables[-1].data)]

    def _store(self, m):
        """The actor that writes; returns whether a chunk has too many beats."""
        x, made, params = self.x, self.made, self.params
        kind, stop = x.payload.kind, x.payload.stop
        low = x.payload.data[: len(stop)]
        level = params.level
        outer, closes = Signal(), Signal()
        fills, full, takes = Signal(), Signal(), Signal()
        open_, crosses, needs, go = Signal(), Signal(), Signal(), Signal()
        # In each cycle in which there is a page: what no beat goes with is written over, because
        # nothing reads a place or a link before its chunk is complete. Pages that are never freed
        # are new ones again behind the last chunk, which may still be read: no beat comes then.
        writes, comes = Signal(), x.valid if self.free is None else Const(1)
        first, current = Signal(params.page_bits), Signal(params.page_bits)
        page, head = Signal(params.page_bits), Signal(params.page_bits)
        is_new, new = Signal(init=1), Signal(params.page_bits)
        offset, last = self._place(m, go & ~outer, closes)

        step = 1 if params.by_number else params.page
        is_free, freed = Const(0), Const(0)
        if self.free is not None:
            is_free, freed = self.free.r.valid, self.free.r.payload
            m.d.comb += self.free.r.ready.eq(go & needs & ~is_new)
        m.d.comb += [
            outer.eq((kind == DONE) | (kind == BARE) & (low > level)),
            closes.eq(~outer & (stop >= level)),
            crosses.eq(Const(0) if params.fixed else last & ~outer & ~closes & ~fills),
            needs.eq(~outer & ~open_ | crosses),
            head.eq(Mux(is_new, new, freed)),
            go.eq(x.valid & ~full & (made.ready | ~outer & ~closes) & (~needs | is_new | is_free)),
            x.ready.eq(go | takes),
            page.eq(Mux(open_, current, head)),
            writes.eq(comes & (open_ | is_new | is_free) & ~full),
            self.ram.w_en.eq(writes),
            self.ram.w_addr.eq(word_address(params, page, offset)),
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
        if self.free is None:
            with m.If(go & (kind == DONE)):
                m.d.sync += [new.eq(0), is_new.eq(1)]
        with m.If(go & ~outer):
            m.d.sync += [
                open_.eq(~closes),
                current.eq(Mux(crosses, head, page)),
            ]
            with m.If(~open_):
                m.d.sync += first.eq(head)
        if self.written is not None:
            m.d.comb += [
                self.written.en.eq(writes),
                self.written.addr.eq(page),
                self.written.data.eq(Cat(closes, Mux(closes, offset, head))),
            ]
        if params.most:
            self._count_rows(m, go & ~outer, closes, fills, full, takes)
        self.stored = go & closes
        none = x.valid & needs & ~is_new if self.free is None else 0
        if params.fixed:
            return none | go & ~outer & (closes != last)
        if params.most:
            return none | takes
        used = Signal(range(params.pages + 1))
        with m.If(go & closes):
            m.d.sync += used.eq(0)
        with m.Elif(go & needs):
            m.d.sync += used.eq(used + 1)
        return none | x.valid & crosses & (used == params.pages)

    def _count_rows(self, m, step, closes, fills, full, takes):
        """Count the rows of a chunk, and take what is left of one that has too many.

        Parameters
        ----------
        step, closes : Value
            A beat of a chunk is stored; it is the last one.
        fills, full, takes : Signal
            To be driven: the last row that there is memory for ends, and the chunk does not; the
            chunk has more rows; a beat of these is taken.
        """
        params, payload = self.params, self.x.payload
        ends = (payload.kind == BARE) | (payload.stop >= params.row)
        rows, is_last = Signal(params.counted_bits), Signal(init=params.most == 1)
        between, over = Signal(init=1), Signal()
        m.d.comb += [
            fills.eq(is_last & ends & ~closes),
            takes.eq(full & ~over & self.x.valid),
            self.detail.eq(
                Mux(
                    full,
                    detail_word(TOO_LARGE, Mux(rows.all(), ~Const(0, NUMBER_BITS), rows)),
                    detail_word(STRUCTURE),
                )
            ),
        ]
        with m.If(step):
            m.d.sync += [
                full.eq(fills),
                rows.eq(Mux(closes, 0, rows + ends)),
                is_last.eq(Mux(closes, params.most == 1, (rows + ends) == params.most - 1)),
            ]
        with m.If(takes):
            m.d.sync += [
                rows.eq(rows + (between & ~rows.all())),
                between.eq(ends),
                over.eq(payload.stop >= params.level),
            ]

    def _place(self, m, step, closes):
        """Where in a page the next word is written, and whether that is its last place."""
        if self.params.fixed:
            return counter(m, step, self.params.largest)
        offset, last = Signal(self.params.offset_bits), Signal()
        with m.If(step):
            m.d.sync += [
                offset.eq(Mux(closes, 0, offset + 1)),
                last.eq(~closes & (offset == self.params.page - 2)),
            ]
        return offset, last

    def _word(self):
        """What is stored of a beat: the stop of one that closes a chunk follows from elsewhere."""
        payload, inner = self.x.payload, (self.params.level - 1).bit_length()
        width = self.params.data_bits(self.unit, self.design)
        fields = [payload.data[:width], payload.stop[:inner]]
        return Cat(*fields) if self.params.fixed else Cat(*fields, payload.kind == BARE)

    def _fetch(self, m, read, starts, fetched):
        """The actor that looks up the entry of a reference's page."""
        m.d.comb += [
            starts.valid.eq(read.valid),
            read.ready.eq(starts.ready),
            starts.payload.kind.eq(read.payload.kind),
            starts.payload.stop.eq(read.payload.stop),
        ]
        data = read.payload.data[: self.params.page_bits]
        if fetched is None:
            m.d.comb += starts.payload.data.eq(read.payload.data)
            return
        low = read.payload.data[: len(read.payload.data)]
        is_value = read.payload.kind == VALUE
        m.d.comb += [
            fetched.addr.eq(data),
            starts.payload.data.eq(Mux(is_value, Cat(data, fetched.data), low)),
        ]

    def _split(self, word):
        """Data, stop and whether it is an empty token, of a word of the memory."""
        inner = (self.params.level - 1).bit_length()
        width = self.params.data_bits(self.unit, self.design)
        data, stop = word[:width], word[width : width + inner]
        return data, stop, Const(0) if self.params.fixed else word[-1]
