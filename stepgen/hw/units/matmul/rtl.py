"""The matrix unit: each tile of x times a tile of w."""

from dataclasses import asdict

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.utils import ceil_log2

from stepgen.hw.arithmetic.circuits.sums import FloatSums, Kept
from stepgen.hw.design import stages
from stepgen.hw.fifo import Fifo
from stepgen.hw.matrix import Accumulators, Dot, RowSums
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.matmul.pair import Pair
from stepgen.hw.units.matmul.params import COMPLETE, SPREAD
from stepgen.hw.units.matmul.rounded_sums import RoundedSums
from stepgen.hw.units.matmul.weights import Loading, other_buffer, size_of, unpadded
from stepgen.ir.dtypes import f32
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE


class MatmulCore(UnitCore):
    """Map(matmul): a tile of x, [M, K] with any M, times a tile of w, [K, N] or transposed.

    In each cycle L x L multipliers take a slice of a row of x and a block of w. The loop nest is,
    from outside: rows of x, the ⌈K/L⌉ slices of a row, the ⌈N/L⌉ blocks for a slice. The weights
    are in L memories, double-buffered: one tile is loaded while the other is used; with one buffer
    a tile is loaded when the one before has been used. Rows where sums start are in a memory for
    two, which is read with the weights. Actors: one loads tiles, one rows, one takes slices of x,
    one computes; queues of complete tiles and rows and one of two slices join them.

    Parameters
    ----------
    unit.params : Matmul

    Notes
    -----
    M·⌈K/L⌉·⌈N/L⌉ cycles per tile without a gap; K·⌈N/L⌉ to load one, transposed N·⌈K/L⌉. A sum of
    bf16 can step again after 4 cycles, one of f32 after 12, so N should be as many L there at
    least; with less it waits between slices of a row. From the step that completes a slice of
    results to its payload: of integers 7 cycles and one per level of the adder tree, of bf16 17 and
    two per level, of f32 22 and 10 per level.
    Resources: ``benchmarks/RESULTS.md``, u1; clock: d.
    """

    def elaborate(self, platform):
        m = Module()
        lanes, depth = self.design.lanes, self._words
        held = {}
        for queue in self.params.queues(self.unit, self.design):
            m.submodules[queue.name] = held[queue.name] = Fifo(queue)
        tiles = held["tiles"]
        banks = [BlockRam(lanes * self._bits, depth) for _ in range(lanes)]
        for index, bank in enumerate(banks):
            m.submodules[f"bank_{index}"] = bank
        begins, frees = Signal(), Signal()
        free = self._room(m, begins, frees)
        loading = Loading(self.params, lanes, self.w, banks, tiles.w, free, begins, SPREAD)
        bad_w = loading.elaborate(m)
        bad_b = self._load_rows(m, held["starts"].w) if self.params.bias else 0
        bad_x = self._compute(m, banks, [queue.r for queue in held.values()], frees)
        m.d.sync += self.error.eq(bad_w | bad_b | bad_x)
        return m

    @property
    def _slices(self):
        return self.params.slices(self.design.lanes)

    @property
    def _bits(self):
        return self.params.summing.element.bits

    @property
    def _blocks(self):
        k_slices, n_slices = self._slices
        return k_slices * n_slices

    @property
    def _words(self):
        """Rows of a memory."""
        return self.params.words(self.design.lanes)

    def _room(self, m, begins, frees):
        """Whether a tile may be loaded as far as memory goes, which `begins` takes; a register.

        With two buffers the queue of complete tiles tells: there is room while it is not full.
        """
        if self.params.buffers == COMPLETE:
            return Const(1, 1)
        used = Signal()
        m.d.sync += used.eq((used | begins) & ~frees)
        return ~used

    def _load_rows(self, m, starts):
        """Write b's rows, one into each half of a memory in turn; push a beat per row."""
        b, n_slices = self.b.payload, self._slices[1]
        width = self.design.lanes * self.params.summing.to.bits
        m.submodules.row = row = BlockRam(width, 2 * n_slices)
        is_value, fire, takes = b.kind == VALUE, Signal(), Signal()
        at, ends = counter(m, takes, n_slices)
        inside, upper = Signal(), Signal()
        m.d.comb += [
            fire.eq(self.b.valid & (inside | starts.ready)),
            takes.eq(fire & is_value),
            self.b.ready.eq(fire),
            starts.valid.eq(fire & (ends | ~is_value)),
            starts.payload.kind.eq(b.kind),
            starts.payload.stop.eq(b.stop),
            starts.payload.data.eq(Mux(is_value, 0, b.data)),
            # Delayed as with weights.
            row.w_en.eq(delayed(m, takes, SPREAD)),
            row.w_addr.eq(delayed(m, self._row_address(at, upper), SPREAD, reset_less=True)),
            row.w_data.eq(delayed(m, b.data, SPREAD, reset_less=True)),
        ]
        with m.If(takes):
            m.d.sync += [inside.eq(~ends), upper.eq(upper ^ ends)]
        empty_tile = (b.kind == BARE) & (b.data[: len(b.stop)] <= TILE_LEVELS)
        misshapen = is_value & ((b.stop != 0) != ends) | is_value & (
            (b.stop >= TILE_LEVELS) != ends
        )
        return self.b.valid & (misshapen | empty_tile | ~is_value & inside)

    def _start(self, m, n_slice, releases):
        """Where the sums of a step start, when its weights are there.

        Parameters
        ----------
        m : Module
        n_slice : Value
            Number of the slice of sums.
        releases : Value
            Whether the step, or what takes no step, is the last of a tile.
        """
        params, lanes = self.params, self.design.lanes
        bits = params.summing.to.bits
        if not params.bias:
            return Const(params.start, bits).replicate(lanes)
        upper = Signal()
        with m.If(releases):
            m.d.sync += upper.eq(~upper)
        row = m.submodules.row
        address = delayed(m, self._row_address(n_slice, upper), SPREAD, reset_less=True)
        m.d.comb += row.r_addr.eq(address)
        return row.r_data

    def _row_address(self, n_slice, upper):
        """Where a slice of a row is, in the lower or the upper half of their memory."""
        n_slices = self._slices[1]
        return (n_slice + Mux(upper, n_slices, 0))[: ceil_log2(2 * n_slices)]

    def _compute(self, m, banks, held, frees):
        """Step through x's beats and the blocks for each; results follow `delay` later."""
        params, lanes, reading = self.params, self.design.lanes, SPREAD + stages.BLOCK_RAM
        # In a full part the multipliers of a unit lie far apart: a slice has a cycle to get there.
        m.submodules.rows = rows = Pair(self.channels["x"], lanes * self._bits, reading - 1)
        wiring.connect(m, wiring.flipped(self.x), rows.i)
        x, y, tiles = rows.o, self.y, held[0]
        k_slices, n_slices = self._slices
        address = Signal(range(self._words))
        start = Signal.like(address)

        stop = x.payload.stop
        is_value = x.payload.kind == VALUE
        low = x.payload.data[: len(stop)]
        has_tile = is_value | (x.payload.kind == BARE) & (low <= TILE_LEVELS)
        is_bare = x.payload.kind == BARE
        folds, sums_up = self.params.folds, self.params.rows > 0
        closes_group = stop >= (self.params.level or TILE_LEVELS + 1) if sums_up else Const(1, 1)
        none = is_bare & (low == TILE_LEVELS + 1) if folds else Const(0, 1)

        both, fire, works, taken, ends = Signal(), Signal(), Signal(), Signal(), Signal()
        size = self._size(tiles)
        if params.any_n:
            n_slice = Signal(range(n_slices))
            last_n = n_slice == size.n
            with m.If(works):
                m.d.sync += n_slice.eq(Mux(last_n, 0, n_slice + 1))
        else:
            n_slice, last_n = counter(m, works, n_slices)
        if params.any_k:
            k_slice, last_k = Signal(range(k_slices)), stop != 0
            with m.If(taken):
                m.d.sync += k_slice.eq(Mux(last_k, 0, k_slice + 1))
        else:
            k_slice, last_k = counter(m, taken, k_slices)
        rests = last_n & (sums_up | ~last_k)
        if params.any_n:
            resting, rested = self._rest_of_any(m, works, rests, taken)
        else:
            resting, rested = self._rest(m, works & rests)
        blank, blank_stop = self._nothing(m, fire & none)
        complete = tiles.payload.stop > TILE_LEVELS if folds else Const(1, 1)
        sends = Mux(
            is_value,
            last_k & complete & ~resting,
            closes_group | ~is_bare | (low != TILE_LEVELS) if folds else 1,
        )
        m.d.comb += [
            both.eq(Cat(x.valid, *(queue.valid for queue in held)).all()),
            fire.eq(both & (y.ready | ~sends)),
            works.eq(fire & is_value & ~resting),
            taken.eq(Mux(last_k & (not sums_up), works & last_n, rested)),
            ends.eq(Mux(is_value, last_k & taken & (stop >= TILE_LEVELS), ~none | blank)),
            x.ready.eq(Mux(is_value, taken, fire & ends)),
            *(queue.ready.eq(fire & ends) for queue in held),
            frees.eq(fire & ends & has_tile),
            y.valid.eq(fire & sends),
        ]
        if params.credits:
            m.d.comb += [self.free.valid.eq(fire & ends), self.free.payload.eq(0)]
        row, following = Signal.like(address), address + 1
        if params.any_n:  # a slice of K has room for the most of N
            following = Mux(last_n, row + n_slices, address + 1)
        with m.If(works):
            m.d.sync += address.eq(Mux(last_n & last_k, start, following))
            with m.If(last_n):
                m.d.sync += row.eq(Mux(last_k, start, row + n_slices))
        with m.If(frees):
            other = other_buffer(params, lanes, start)
            m.d.sync += [start.eq(other), address.eq(other), row.eq(other)]

        index, fresh = n_slice, Const(1, 1)
        if sums_up:
            fresh = Signal(init=1)
            with m.If(fire & ends):
                m.d.sync += fresh.eq(closes_group | ~has_tile & (fresh | ~is_bare))
            index = self._index(m, works, last_n, last_k, fire & ends)
        ends_row = delayed(m, last_k, reading, reset_less=True)
        x_slice = delayed(m, rows.data, 1, reset_less=True)
        x_slice = unpadded(self.params, lanes, x_slice, ends_row, params.padding)
        start = self._start(m, n_slice, frees)
        first = fresh & (k_slice == 0)
        sums = self._arithmetic(m, banks, x_slice, address, start, works, first, index)
        total = self.channels["y"].delay
        out = stop - folds * (stop > TILE_LEVELS)
        value_stop, stops = Mux(last_n, out, 0), len(y.payload.stop)
        kind, out_stop, out_low, zero = (
            delayed(m, value, total, reset_less=True)
            for value in (
                Mux(none, VALUE, x.payload.kind),
                Mux(none, Mux(blank, out, blank_stop), Mux(is_value, value_stop, out))[:stops],
                Mux(is_bare, low - folds * (low > TILE_LEVELS), low)[: len(low)],
                none,
            )
        )
        nothing = Const(self.params.start, self.params.summing.to.bits).replicate(self.design.lanes)
        made = Mux(zero, nothing, sums)
        if any(params.counting(lanes)):
            made = Cat(made, delayed(m, Mux(last_n, size.lacks, 0), total, reset_less=True))
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(out_stop),
            y.payload.data.eq(self.data_of("y", kind, made, out_low)),
        ]

        wrong = is_value & ((stop != 0) != last_k)
        if params.any_k:
            wrong = is_value & ((k_slice == size.k) != last_k)
        closes = ~is_value | (stop >= TILE_LEVELS)
        for port, queue in zip(self.params.inputs[1:], held, strict=True):
            other, differs = queue.payload, stop != queue.payload.stop
            if port == "w" and not self.params.stops:
                differs = differs & ~has_tile
            fits = other.kind == Mux(has_tile, VALUE, x.payload.kind)
            wrong = wrong | ~fits | closes & (differs | ~has_tile & (low != other.data))
        if folds and not self.params.fixed:
            wrong = wrong | none
        return both & wrong

    def _rest(self, m, last):
        """Wait, after the last step of a slice, until its row's sums can step again.

        Returns
        -------
        resting : Value
        rested : Value
            Whether this is the slice's last cycle.
        """
        lanes = self.design.lanes
        cycles = self.params.turn(lanes) - self._slices[1]
        if not cycles:
            return Const(0, 1), last
        resting, ends = Signal(), Signal()
        _, rested = counter(m, resting, cycles)
        m.d.comb += ends.eq(resting & rested)
        with m.If(last):
            m.d.sync += resting.eq(1)
        with m.Elif(ends):
            m.d.sync += resting.eq(0)
        return resting, ends

    def _size(self, tiles):
        """The size that a tile of dynamic dims says of itself; None of others."""
        if not self.params.dynamic:
            return None
        shape = size_of(self.params, self.design.lanes)
        return data.View(shape, tiles.payload.data[: shape.size])

    def _rest_of_any(self, m, works, last, taken):
        """As `_rest`, for rows of any number of slices: `rest` cycles from a slice's first step."""
        cycles = Signal(range(self.params.rest))
        resting, enough = Signal(), cycles == self.params.rest - 1
        with m.If(taken):
            m.d.sync += [cycles.eq(0), resting.eq(0)]
        with m.Elif(works | resting):
            m.d.sync += [cycles.eq(cycles + ~enough), resting.eq(resting | last)]
        return resting, (resting | works & last) & enough

    def _nothing(self, m, sends):
        """The beats of the sums of an empty group: whether it is the last, and its stop if not."""
        if not self.params.rows:
            return Const(1, 1), Const(0, 1)
        _, ends_row = counter(m, sends, self._slices[1])
        _, last_row = counter(m, sends & ends_row, self.params.rows)
        return ends_row & last_row, ends_row

    def _index(self, m, works, last_n, last_k, ends):
        """The number of the sums of the next step."""
        sums = self.params.sums(self.design.lanes)
        index, row = Signal(range(sums)), Signal(range(sums))
        with m.If(works):
            next_row = row + self._slices[1] if self.params.any_n else index + 1
            following = Mux(last_n & last_k, next_row, index + 1)
            m.d.sync += index.eq(Mux(last_n & ~last_k, row, following))
            with m.If(last_n & last_k):
                m.d.sync += row.eq(next_row)
        with m.If(ends):
            m.d.sync += [index.eq(0), row.eq(0)]
        return index

    def _arithmetic(self, m, banks, x_slice, address, start, steps, first, index):
        """The pipeline from a block's address, in the cycle of its step, to the sums.

        `x_slice` comes with the block.
        """
        reading = SPREAD + stages.BLOCK_RAM
        r_addr = delayed(m, address, SPREAD, reset_less=True)
        m.d.comb += [bank.r_addr.eq(r_addr) for bank in banks]
        floats = self.params.summing.indexed
        ahead = Kept.AHEAD if floats and self.params.deep(self.design.lanes) else 0
        turn = (
            delayed(m, steps, reading),
            delayed(m, first, reading, reset_less=True),
            delayed(m, index, reading - ahead, reset_less=True),
        )
        rows = [bank.r_data for bank in banks]
        if self.params.transposed:
            rows = [Cat(row.word_select(k, self._bits) for row in rows) for k in range(len(rows))]
        sums = self._floats if floats else self._integers
        return Cat(sums(m, x_slice, rows, start, *turn))

    def _integers(self, m, x_slice, rows, start, step, first, index):
        lanes, summing = self.design.lanes, self.params.summing
        m.submodules.dot = dot = Dot(lanes, lanes, self._bits)
        shape = data.ArrayLayout(signed(summing.bits), lanes)
        added = summing.stages(lanes) - 1
        if in_turn := self.params.in_turn(lanes):
            wide = summing.to.bits
            start = self.params.start - (self.params.start >> wide - 1 << wide)
            accumulators = RowSums(in_turn, shape, dot.sums.shape(), start)
            ahead = added - RowSums.AHEAD
            m.d.comb += [
                accumulators.index.eq(delayed(m, index, ahead, reset_less=True)),
                accumulators.first.eq(delayed(m, first, ahead, reset_less=True)),
            ]
        else:
            accumulators = Accumulators(self._slices[1], shape, dot.sums.shape())
            m.d.comb += [
                accumulators.starts.eq(delayed(m, step & first, added - 1)),
                accumulators.start.eq(
                    delayed(m, start, added - 1, reset_less=True) if summing.starts else 0
                ),
            ]
        m.submodules.accumulators = accumulators
        m.d.comb += [
            dot.x.eq(x_slice),
            *(w.eq(row) for w, row in zip(dot.w, rows, strict=True)),
            accumulators.term.eq(dot.sums),
            accumulators.step.eq(delayed(m, step, added)),
        ]
        return [_extend(accumulators.sums[n], summing.to.bits) for n in range(lanes)]

    def _floats(self, m, x_slice, rows, start, step, first, index):
        lanes, bits, summing = self.design.lanes, self._bits, self.params.summing
        rows_kept = self.params.sums(lanes)
        deep = self.params.deep(lanes)
        identity = [asdict(summing), lanes, rows_kept, deep]
        kind = RoundedSums if summing.element == f32 else FloatSums
        sums = []
        for n in range(lanes):
            lane = kind(summing, lanes, rows_kept, deep)
            m.submodules[f"sums_{n}"] = self.part(lane, "sums", identity)
            m.d.comb += [lane.step.eq(step), lane.first.eq(first), lane.index.eq(index)]
            if summing.starts:
                m.d.comb += lane.start.eq(start.word_select(n, summing.to.bits))
            m.d.comb += [
                Cat(lane.x[k], lane.w[k]).eq(
                    Cat(x_slice.word_select(k, bits), row.word_select(n, bits))
                )
                for k, row in enumerate(rows)
            ]
            sums.append(lane.sum)
        return sums


def _extend(value, bits):
    """`value` with its sign repeated up to `bits`."""
    return Cat(value, value[-1].replicate(bits - len(value)))
