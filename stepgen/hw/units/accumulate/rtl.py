"""Folds the tiles of a chunk, element by element, into a state on chip."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class AccumulateCore(UnitCore):
    """Accum and Scan of an element-wise function.

    A beat reads its word of the state, and the updated word is written back when it leaves the
    pipeline. A word that is still on its way is taken from the end of the pipeline as soon as it
    is there; until then the beat that needs it waits. The first tile of a chunk reads nothing, so
    meanwhile the finished state is read and sent: word by word, ahead of the words of that tile.

    Parameters
    ----------
    unit.params : Accumulate

    Notes
    -----
    One beat of every operand per cycle if a tile has as many beats as the loop has stages
    (`stepgen.hw.arithmetic.pipeline.Recurrence`); a smaller tile takes as many cycles as those. A
    state is sent from the cycle after its chunk's last beat on. Latency to the payload: reading
    the memory, and in a Scan the pipeline. Cost: the memory, the pipelines, and where tiles may be
    small a comparator of addresses per stage. Tiles of other sizes than the chunk's first, tiles
    with too many rows, and empty chunks of tiles whose rows are not static raise ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        params, first_x = self.params, self.inputs[0].payload
        self._there = Cat(*(x.valid for x in self.inputs)).all()
        self._value = first_x.kind == VALUE
        self._low = first_x.data[: len(first_x.stop)]
        no_rows = (first_x.kind == BARE) & (self._low == TILE_LEVELS)
        self._tile_ends = (self._value | no_rows) & (first_x.stop >= TILE_LEVELS)

        self._take = Signal()
        self._put = Signal()  # a beat updates the state
        self._first = Signal(init=1)  # the tile is the first of its chunk
        self._index = Signal(range(params.beats))
        m.d.comb += [
            self._put.eq(self._take & self._value),
            *(x.ready.eq(self._take) for x in self.inputs),
        ]
        with m.If(self._put):
            m.d.sync += self._index.eq(self._index + 1)
        with m.If(self._take & self._tile_ends):
            m.d.sync += [self._first.eq(0), self._index.eq(0)]
        if params.every:
            self._scan(m)
        else:
            self._fold(m)
        return m

    @property
    def _start(self):
        """The word of a state before the first update."""
        params = self.params
        number = Const(params.start, params.pipeline.element.bits)
        return number.replicate(params.beat_lanes(self.design.lanes))

    def _state(self, m, address):
        """The word of the state at an address.

        Returns
        -------
        wait : Value
            Whether an update of the word is under way and can't be used yet.
        word : Value
            The word, `ahead` cycles later.
        updated : Value
            The beat's updated word, another `loop` cycles later.
        """
        params, pipeline = self.params, self.params.pipeline
        ahead, loop = params.ahead, pipeline.loop
        width = params.beat_lanes(self.design.lanes) * pipeline.element.bits
        m.submodules.ram = ram = BlockRam(width, params.depth)

        puts, places = [self._put], [self._index]
        for _ in range(ahead + loop):
            puts.append(delayed(m, puts[-1], 1))
            places.append(delayed(m, places[-1], 1, reset_less=True))

        def updated_ago(cycles):
            return puts[cycles] & (places[cycles] == address)

        wait = Cat(updated_ago(k) for k in range(params.least, loop)).any()
        updated = Signal(width)
        word = ram.r_data
        # An update can be read in the third cycle after it has left the pipeline.
        for age in reversed(range(stages.BLOCK_RAM + 1)):
            if loop + age >= params.least:
                fresh = delayed(m, updated_ago(loop + age), ahead, reset_less=True)
                word = Mux(fresh, delayed(m, updated, age, reset_less=True), word)

        first = delayed(m, self._first, ahead, reset_less=True)
        operands = [
            delayed(m, x.payload.data, ahead - pipeline.lead, reset_less=True) for x in self.inputs
        ]
        state = Signal.like(updated)
        m.d.comb += state.eq(Mux(first, self._start, word))
        lanes = self.lanes(m, pipeline, [state, *operands])
        rest = loop - (pipeline.stages - pipeline.lead)
        m.d.comb += [
            updated.eq(delayed(m, Cat(lanes), rest, reset_less=True)),
            ram.r_addr.eq(delayed(m, address, ahead - stages.BLOCK_RAM, reset_less=True)),
            ram.w_en.eq(puts[-1]),
            ram.w_addr.eq(places[-1]),
            ram.w_data.eq(updated),
        ]
        return wait, word, updated

    def _scan(self, m):
        """Every beat leaves updated."""
        x, y, params = self.inputs[0].payload, self.y, self.params
        wait, _, updated = self._state(m, self._index)
        m.d.comb += [
            self._take.eq(self._there & y.ready & ~(self._value & ~self._first & wait)),
            y.valid.eq(self._take),
        ]
        with m.If(self._take & (x.stop >= params.level)):
            m.d.sync += self._first.eq(1)
        kind, stop, low = (
            delayed(m, value, params.delay(self.design.lanes), reset_less=True)
            for value in (x.kind, x.stop, self._low)
        )
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(self.data_of("y", kind, updated, low)),
        ]
        self._check(m, self._size(m), 0)

    def _size(self, m):
        """Beats of the first tile, once it is known."""
        size = Signal(range(self.params.beats + 1))
        with m.If(self._take & self._tile_ends & self._first):
            m.d.sync += size.eq(self._index + self._value)
        return size

    def _fold(self, m):
        """Fold a chunk, then send the state."""
        x, y, params = self.inputs[0].payload, self.y, self.params
        level, lowered = params.level, params.level - TILE_LEVELS
        outer = (x.kind == DONE) | (x.kind == BARE) & (self._low > level)
        ends = ~outer & (x.stop >= level)
        size = self._size(m)

        sending, blank, empty = Signal(), Signal(), Signal()
        sent, last = Signal(range(params.beats)), Signal(range(params.beats))
        send, sent_all, free = Signal(), Signal(), Signal()
        wait, word, _ = self._state(m, Mux(sending, sent, self._index))
        stop = Signal.like(y.payload.stop)
        _, row_ends = counter(m, send & ~empty, params.slices)
        final = empty | (sent == last)
        m.d.comb += [
            send.eq(sending & y.ready & (~wait | blank | empty)),
            sent_all.eq(send & final),
            free.eq(
                Mux(self._first, ~sending | send | (self._index != sent), ~sending & ~wait)
                | ~self._value
            ),
            self._take.eq(
                self._there & Mux(outer, ~sending & y.ready, free & (~ends | ~sending | sent_all))
            ),
            y.valid.eq(send | self._take & outer),
        ]
        with m.If(send):
            m.d.sync += sent.eq(sent + 1)
        with m.If(sent_all):
            m.d.sync += sending.eq(0)
        none = self._first & ~self._tile_ends  # the chunk has no tiles
        now = Mux(self._first, self._index + self._value, size)
        with m.If(self._take & ends):
            m.d.sync += [
                self._first.eq(1),
                sending.eq(1),
                sent.eq(0),
                stop.eq(x.stop - lowered),
                blank.eq(none),
                empty.eq(Mux(none, Const(params.whole == 0), now == 0)),
                last.eq(Mux(none, params.whole - 1, now - 1)),
            ]

        kind = Mux(sending, Mux(empty, BARE, VALUE), x.kind)
        low = Mux(sending, TILE_LEVELS, Mux(outer & (x.kind == BARE), self._low - lowered, 0))
        leaving = Mux(
            sending,
            Mux(final, stop, row_ends),
            Mux(x.kind == BARE, x.stop - lowered, 0),
        )
        leaving, low = leaving[: len(stop)], low[: len(stop)]
        late = params.ahead
        late_kind = delayed(m, kind, late, reset_less=True)
        data = Mux(delayed(m, blank, late, reset_less=True), self._start, word)
        m.d.comb += [
            y.payload.kind.eq(late_kind),
            y.payload.stop.eq(delayed(m, leaving, late, reset_less=True)),
            y.payload.data.eq(
                Mux(late_kind == VALUE, data, delayed(m, low, late, reset_less=True))
            ),
        ]
        self._check(m, size, ends & none & (not params.fixed))

    def _check(self, m, size, sizeless):
        """Raise ``error`` for operands that differ and for tiles that do not fit."""
        first, *others = (x.payload for x in self.inputs)
        _, row_ends = counter(m, self._put, self.params.slices)
        beats = self._index + self._value
        apart = [(x.kind != first.kind) | (x.stop != first.stop) for x in others]
        too_long = self._value & ~self._tile_ends & (self._index == self.params.beats - 1)
        short = self._tile_ends & (beats != self.params.whole) if self.params.fixed else 0
        m.d.sync += self.error.eq(
            self._take
            & (
                Cat(apart).any()
                | (self._value & ((first.stop != 0) != row_ends))
                | too_long
                | short
                | self._tile_ends & ~self._first & (beats != size)
                | sizeless
            )
        )
