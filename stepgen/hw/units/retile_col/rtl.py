"""Joins the tiles of a chunk by columns, in a memory."""

from amaranth.hdl import Cat, Module, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class RetileColCore(UnitCore):
    """Joins `count` tiles by columns (Accum of retile_col).

    One actor writes each tile to its columns, another reads row by row. The rows of the chunk's
    last tile are queued one by one as they are complete, so reading begins with its first row.
    With two buffers the next chunk is written meanwhile.

    Parameters
    ----------
    unit.params : RetileCol

    Notes
    -----
    One beat per cycle on both sides, with two buffers also across chunks. Latency from a row of
    the last tile to the joined row 1 in addition to the FIFOs' and the memory's. Cost: the memory
    and two counters of its address width. A chunk of another number of tiles, tiles with more than
    `rows` rows or with different numbers of rows raise ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        (inside,) = self.params.queues(self.unit, self.design)
        m.submodules.rows = rows = Fifo(inside)
        m.submodules.ram = ram = BlockRam(self.channels["y"].data_bits, self.params.depth)
        taken = Signal()  # a chunk has taken a buffer
        freed = Signal()
        free = self._free_buffers(m, taken, freed)
        self._write(m, rows.w, ram, free, taken)
        self._read(m, rows.r, ram, freed)
        return m

    def _free_buffers(self, m, taken, freed):
        """Whether a buffer is free; a register."""
        buffers = self.params.buffers
        used, next_used = Signal(range(buffers + 1)), Signal(range(buffers + 1))
        full = Signal()
        m.d.comb += next_used.eq(used + taken - freed)
        m.d.sync += [used.eq(next_used), full.eq(next_used == buffers)]
        return ~full

    def _base_after(self, m, switch):
        """First address of the buffer after the current one; `switch` makes it the current one."""
        if self.params.buffers == 1:
            return 0
        second = Signal()
        with m.If(switch):
            m.d.sync += second.eq(~second)
        return Mux(second, 0, self.params.chunk_beats)

    def _write(self, m, rows, ram, free, taken):
        x, count, slices = self.x, self.params.count, self.params.slices
        lowered = self.params.level - TILE_LEVELS
        stop = x.payload.stop
        low = x.payload.data[: len(stop)]
        address = Signal(range(ram.depth))
        # Tiles begin at multiples of `slices`: the bits that are 0 in all of them are not stored.
        zeros = (slices & -slices).bit_length() - 1
        base = Signal(max(0, len(address) - zeros))
        begun = Signal()  # the chunk has its buffer

        group = (x.payload.kind == DONE) | (x.payload.kind == BARE) & (low > TILE_LEVELS)
        row_ends, tile_ends = ~group & (stop >= 1), ~group & (stop >= TILE_LEVELS)
        told = Signal()
        enter = Signal()
        _, last_tile = counter(m, enter & tile_ends, count)
        chunk_ends = tile_ends & last_tile
        m.d.comb += [
            told.eq(group | row_ends & last_tile),
            enter.eq(x.valid & (group | begun | free) & (rows.ready | ~told)),
            taken.eq(enter & ~group & ~begun),
            x.ready.eq(enter),
            # What no value enters with is written over, or is in a buffer that nothing reads.
            ram.w_en.eq(begun | free),
            ram.w_addr.eq(address),
            ram.w_data.eq(x.payload.data),
            rows.valid.eq(enter & told),
            rows.payload.kind.eq(x.payload.kind),
            rows.payload.stop.eq(Mux(stop >= TILE_LEVELS, stop - lowered, stop)),
            rows.payload.data.eq(Mux(low > TILE_LEVELS, low - lowered, low)),
        ]
        next_buffer = self._base_after(m, enter & chunk_ends)
        next_base = Signal.like(base)
        m.d.comb += next_base.eq(Mux(chunk_ends, next_buffer >> zeros, base + (slices >> zeros)))
        step = Mux(row_ends, self.params.row_beats - slices + 1, 1)
        with m.If(enter & ~group):
            m.d.sync += [
                begun.eq(~chunk_ends),
                address.eq(Mux(tile_ends, next_base << zeros, address + step)),
            ]
            with m.If(tile_ends):
                m.d.sync += base.eq(next_base)
        self._check(m, enter, group, begun, row_ends, tile_ends, last_tile)

    def _check(self, m, enter, group, begun, row_ends, tile_ends, last_tile):
        """Raises ``error`` for chunks of another structure."""
        x, rows = self.x, self.params.rows
        row = Signal(range(rows + 1))
        first = Signal(init=1)  # of its chunk
        # A tile without rows ends as one of one row does, but with an empty token.
        now = Cat(x.payload.kind == VALUE, row)
        first_rows = Signal.like(now)
        with m.If(enter & row_ends):
            m.d.sync += row.eq(Mux(tile_ends, 0, row + 1))
        with m.If(enter & tile_ends):
            m.d.sync += first.eq(last_tile)
        with m.If(first):
            m.d.sync += first_rows.eq(now)
        m.d.sync += self.error.eq(
            enter
            & Mux(
                group,
                begun | (x.payload.kind == BARE) & (x.payload.stop <= self.params.level),
                (x.payload.kind == VALUE) & (row == rows)
                | tile_ends & (last_tile != (x.payload.stop >= self.params.level))
                | tile_ends & ~first & (now != first_rows),
            )
        )

    def _read(self, m, rows, ram, freed):
        y, length = self.y, self.params.row_beats
        address = Signal(range(ram.depth))
        is_row = rows.payload.kind == VALUE
        read = Signal()
        _, row_ends = counter(m, read & is_row, length)
        ends = ~is_row | row_ends
        tile = is_row | (rows.payload.kind == BARE) & (rows.payload.data == TILE_LEVELS)
        m.d.comb += [
            y.valid.eq(rows.valid),
            read.eq(rows.valid & y.ready),
            rows.ready.eq(read & ends),
            freed.eq(read & ends & tile & (rows.payload.stop >= TILE_LEVELS)),
            ram.r_addr.eq(address),
        ]
        next_buffer = self._base_after(m, freed)
        with m.If(read & is_row):
            m.d.sync += address.eq(address + 1)
        with m.If(freed):
            m.d.sync += address.eq(next_buffer)

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        m.d.comb += [
            y.payload.kind.eq(late(rows.payload.kind)),
            y.payload.stop.eq(late(Mux(ends, rows.payload.stop, 0))),
            y.payload.data.eq(Mux(late(is_row), ram.r_data, late(rows.payload.data))),
        ]
