"""The matrix unit: each tile of x times a tile of w."""

from dataclasses import asdict

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring

from stepgen.hw.arithmetic.circuits.sums import FloatSums, Kept
from stepgen.hw.design import stages
from stepgen.hw.fifo import Fifo
from stepgen.hw.matrix import Alternating, Dot, InPlace, RowSums
from stepgen.hw.primitives import BlockRam, delayed
from stepgen.hw.unit import UnitCore
from stepgen.hw.units.matmul.k_inside import KInside
from stepgen.hw.units.matmul.n_inside import NInside
from stepgen.hw.units.matmul.pair import Pair
from stepgen.hw.units.matmul.params import COMPLETE, SPREAD
from stepgen.hw.units.matmul.rounded_sums import RoundedSums
from stepgen.hw.units.matmul.rows import Rows
from stepgen.hw.units.matmul.weights import Loading, unpadded
from stepgen.ir.dtypes import f32
from stepgen.ir.wire import TILE_LEVELS

READING = SPREAD + stages.BLOCK_RAM
"""Cycles from a step to its block and its slice of x."""


class MatmulCore(UnitCore):
    """Map(matmul): a tile of x, [M, K] with any M, times a tile of w, [K, N] or transposed.

    In each cycle L x L multipliers take a slice of a row of x and a block of w. The loop nest is,
    from outside: rows of x, the ⌈N/L⌉ slices of a row of y, the ⌈K/L⌉ blocks for a slice. Only L
    sums are kept, but a row of x is read ⌈N/L⌉ times, from a memory for two. Floats, and integers
    that are summed up over tiles, have N inside: a sum takes cycles to step again, meanwhile others
    of its row do. The weights are in L memories, double-buffered: one tile is loaded while the
    other is used; with one buffer a tile is loaded when the one before has been used. Rows where
    sums start are in a memory for two, which is read with the weights. Actors: one loads tiles, one
    rows of b, one takes x, one computes; queues of complete tiles and rows join them, with N inside
    one of two slices of x.

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
        params, lanes = self.params, self.design.lanes
        queues = {queue.name: queue for queue in params.queues(self.unit, self.design)}
        m.submodules.tiles = tiles = Fifo(queues["tiles"])
        banks = [BlockRam(lanes * self._bits, params.words(lanes)) for _ in range(lanes)]
        for index, bank in enumerate(banks):
            m.submodules[f"bank_{index}"] = bank
        held, wrong = [tiles.r], []
        if params.bias:
            m.submodules.starts = starts = self._rows("b", queues["starts"], TILE_LEVELS)
            held.append(starts.o)
            wrong.append(starts.error)
        if params.k_inside(lanes):
            m.submodules.rows = rows = self._rows("x", queues["rows"], 1)
            nest = KInside(self, rows.o, held)
        else:
            # In a full part the multipliers lie far apart: a slice has a cycle to get there.
            m.submodules.rows = rows = Pair(self.channels["x"], lanes * self._bits, READING - 1)
            nest = NInside(self, rows.o, held)
        wiring.connect(m, wiring.flipped(self.x), rows.i)
        wrong.append(nest.elaborate(m))

        begins = Signal()
        free = self._room(m, begins, nest.frees)
        loading = Loading(params, lanes, self.w, banks, tiles.w, free, begins, SPREAD)
        wrong.append(loading.elaborate(m))
        start = Const(params.start, params.summing.to.bits).replicate(lanes)
        if params.bias:
            wiring.connect(m, wiring.flipped(self.b), starts.i)
            m.d.comb += [starts.number.eq(nest.n_slice), starts.used.eq(nest.frees)]
            start = starts.data
        if params.k_inside(lanes):
            m.d.comb += [rows.number.eq(nest.k_slice), rows.used.eq(nest.ends_row)]
            wrong.append(rows.error)
            x_slice = rows.data
        else:
            x_slice = delayed(m, rows.data, 1, reset_less=True)
        ends_row = delayed(m, nest.last_k, READING, reset_less=True)
        x_slice = unpadded(params, lanes, x_slice, ends_row, params.padding)
        self._send(m, nest, self._arithmetic(m, banks, x_slice, nest, start))
        m.d.sync += self.error.eq(Cat(wrong).any())
        return m

    @property
    def _bits(self):
        return self.params.summing.element.bits

    def _rows(self, port, queue, level):
        """A memory for two rows of a port."""
        lanes, summing = self.design.lanes, self.params.summing
        k_slices, n_slices = self.params.slices(lanes)
        if port == "x":
            # A row of one slice ends in the cycle before the next one may take its place.
            spread = SPREAD if self.params.any_k else 0
            return Rows(self.channels[port], queue, k_slices, level, lanes * self._bits, spread)
        bits = lanes * summing.to.bits
        return Rows(self.channels[port], queue, n_slices, level, bits, SPREAD)

    def _room(self, m, begins, frees):
        """Whether a tile may be loaded as far as memory goes, which `begins` takes; a register.

        With two buffers the queue of complete tiles tells: there is room while it is not full.
        """
        if self.params.buffers == COMPLETE:
            return Const(1, 1)
        used = Signal()
        m.d.sync += used.eq((used | begins) & ~frees)
        return ~used

    def _send(self, m, nest, sums):
        """Send the results of steps, and beats without values, as late as those are there."""
        params, lanes, y = self.params, self.design.lanes, self.y
        total = self.channels["y"].delay
        stops, lows = len(y.payload.stop), len(nest.low)
        of_beat = (nest.kind, nest.out_stop[:stops], nest.out_low[:lows], nest.nothing)
        kind, stop, low, nothing = (delayed(m, v, total, reset_less=True) for v in of_beat)
        start = Const(params.start, params.summing.to.bits).replicate(lanes)
        made = Mux(nothing, start, sums)
        if any(params.counting(lanes)):
            made = Cat(made, delayed(m, nest.lacks, total, reset_less=True))
        m.d.comb += [
            y.payload.kind.eq(kind),
            y.payload.stop.eq(stop),
            y.payload.data.eq(self.data_of("y", kind, made, low, zeros=params.in_place(lanes))),
        ]
        if params.credits:
            m.d.comb += [self.free.valid.eq(nest.fire & nest.ends), self.free.payload.eq(0)]

    def _arithmetic(self, m, banks, x_slice, nest, start):
        """The pipeline from a step to the sums.

        Parameters
        ----------
        m : Module
        banks : sequence of BlockRam
        x_slice, start : Value
            The slice of x, and where sums start, in the cycle in which the block comes.
        nest : Nest
        """
        r_addr = delayed(m, nest.address, SPREAD, reset_less=True)
        m.d.comb += [bank.r_addr.eq(r_addr) for bank in banks]
        step = delayed(m, nest.works, READING)
        rows = [bank.r_data for bank in banks]
        if self.params.transposed:
            rows = [Cat(row.word_select(k, self._bits) for row in rows) for k in range(len(rows))]
        sums = self._floats if self.params.summing.indexed else self._integers
        return Cat(sums(m, x_slice, rows, start, nest, step))

    def _integers(self, m, x_slice, rows, start, nest, step):
        lanes, summing = self.design.lanes, self.params.summing
        m.submodules.dot = dot = Dot(lanes, lanes, self._bits)
        shape = data.ArrayLayout(signed(summing.bits), lanes)
        added = summing.stages(lanes) - 1
        term, later = dot.sums.shape(), READING + added
        if self.params.in_place(lanes):
            sums = InPlace(shape, term, starts=summing.starts)
            m.d.comb += sums.last.eq(delayed(m, nest.last_k, later, reset_less=True))
            if summing.starts:
                m.d.comb += sums.start.eq(delayed(m, start, added, reset_less=True))
        elif self.params.rows:
            wide = summing.to.bits
            begin = self.params.start - (self.params.start >> wide - 1 << wide)
            sums = RowSums(self.params.in_turn(lanes), shape, term, begin)
            ahead = later - RowSums.AHEAD
            m.d.comb += [
                sums.index.eq(delayed(m, nest.index, ahead, reset_less=True)),
                sums.first.eq(delayed(m, nest.first, ahead, reset_less=True)),
            ]
        else:
            sums = Alternating(shape, term)
            m.d.comb += [
                sums.starts.eq(delayed(m, nest.works & nest.first, later - 1)),
                sums.start.eq(
                    delayed(m, start, added - 1, reset_less=True) if summing.starts else 0
                ),
            ]
        m.submodules.accumulators = sums
        m.d.comb += [
            dot.x.eq(x_slice),
            *(w.eq(row) for w, row in zip(dot.w, rows, strict=True)),
            sums.term.eq(dot.sums),
            sums.step.eq(delayed(m, step, added)),
        ]
        return [_extend(sums.sums[n], summing.to.bits) for n in range(lanes)]

    def _floats(self, m, x_slice, rows, start, nest, step):
        lanes, bits, summing = self.design.lanes, self._bits, self.params.summing
        rows_kept = self.params.sums(lanes)
        deep = self.params.deep(lanes)
        ahead = Kept.AHEAD if deep else 0
        first = delayed(m, nest.first, READING, reset_less=True)
        index = delayed(m, nest.index, READING - ahead, reset_less=True)
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
