"""How a matrix unit loads tiles of weights into its memories."""

import math

from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.lib import data

from stepgen.hw.primitives import counter, delayed
from stepgen.ir.wire import BARE, TILE_LEVELS, VALUE

__all__ = ["Loading", "address_of", "size_of", "unpadded"]


def size_of(params, lanes: int) -> data.StructLayout:
    """What a complete tile of dynamic dims says of itself.

    ``k`` and ``n`` are the numbers of its last slices, the last one of N ``lacks`` elements.
    """
    k, n, lacks = params.size_bits(lanes)
    return data.StructLayout({"k": k, "n": n, "lacks": lacks})


def address_of(params, lanes: int, block, upper):
    """Where a block of the tile in the lower or the upper buffer is."""
    blocks = math.prod(params.slices(lanes))
    if params.buffers == 1:
        return block
    return Cat(block, upper) if blocks == 1 << len(block) else block + Mux(upper, blocks, 0)


def unpadded(params, lanes: int, payload, last, fill: int = 0):
    """A slice along K; zeros, or elements of the bits `fill`, where a row's last one is padding."""
    bits = params.summing.element.bits
    tail = 0 if params.any_k else params.k % lanes
    k_slice, used = payload[: lanes * bits], tail * bits
    padding = Const(fill, bits).replicate(lanes - tail)
    return Cat(k_slice[:used], Mux(last, padding, k_slice[used:])) if tail else k_slice


class Loading:
    """Writes the beats of w into the memories, row r into that of number r mod L.

    Of a tile that is not transposed the banks that no row of the last slice of K may reach are
    filled with zeros, with the first row of each slice; of transposed ones zeros stand behind the
    end of each row.

    Parameters
    ----------
    params : Matmul
    lanes : int
    w : stream
    banks : sequence of BlockRam
    tiles : stream
        Gets a beat for each complete tile.
    free : Value
        Whether a tile may be loaded as far as memory goes.
    begins : Signal
        To be driven: a tile begins.
    spread : int
        Stage that distributes addresses and data to all memories.
    """

    def __init__(self, params, lanes, w, banks, tiles, free, begins, spread):
        self.params = params
        self.lanes = lanes
        self.w = w
        self.banks = banks
        self.tiles = tiles
        self.free = free
        self.begins = begins
        self.spread = spread

    def elaborate(self, m):
        """Add the actor to a module; returns what is wrong with a beat of w."""
        w, tiles, params, banks = self.w, self.tiles, self.params, self.banks
        k_slices, n_slices = params.slices(self.lanes)
        rows, row_beats = params.beats(self.lanes)
        to_k, to_n = (1, k_slices) if params.k_inside(self.lanes) else (n_slices, 1)
        block, upper = Signal(range(k_slices * n_slices)), Signal()
        first_of_row = Signal.like(block)
        row = Signal(len(banks), init=1)
        inside = Signal()

        stop, is_value = w.payload.stop, w.payload.kind == VALUE
        fire, takes = Signal(), Signal()
        any_rows, any_beats = params.any_k, params.any_n
        if params.transposed:
            any_rows, any_beats = any_beats, any_rows
        ends_row, ends = stop != 0, stop >= TILE_LEVELS
        misshapen = ends & ~ends_row
        if not any_beats:
            _, ends_row = counter(m, takes, row_beats)
            misshapen = (stop != 0) != ends_row
        if not params.dynamic:
            _, ends = counter(m, takes, rows * row_beats)
            misshapen = misshapen | ((stop >= TILE_LEVELS) != ends)
        elif not any_rows:
            _, last_row = counter(m, takes & ends_row, rows)
            misshapen = misshapen | ends_row & ((stop >= TILE_LEVELS) != last_row)
        size = self._measured(m, takes, row, ends_row, ends) if params.dynamic else 0
        m.d.comb += [
            fire.eq(w.valid & (inside | tiles.ready & (self.free | ~is_value))),
            takes.eq(fire & is_value),
            self.begins.eq(takes & ~inside),
            w.ready.eq(fire),
            tiles.valid.eq(fire & (ends | ~is_value)),
            tiles.payload.kind.eq(w.payload.kind),
            tiles.payload.stop.eq(stop),
            tiles.payload.data.eq(Mux(is_value, size, w.payload.data[: len(stop)])),
        ]
        w_data = w.payload.data[: banks[0].width]
        if params.transposed:
            w_data = unpadded(params, self.lanes, w_data, ends_row)
            following, next_rows = block + to_k, first_of_row + to_n
        else:
            following, next_rows = block + to_n, first_of_row + to_k
        self._write(m, takes, address_of(params, self.lanes, block, upper), row, w_data)
        begins_at = Mux(row[-1], next_rows, first_of_row)
        with m.If(takes):
            m.d.sync += [inside.eq(~ends), block.eq(Mux(ends_row, begins_at, following))]
        with m.If(takes & ends_row):
            m.d.sync += [row.eq(row.rotate_left(1)), first_of_row.eq(begins_at)]
        with m.If(takes & ends):
            m.d.sync += [block.eq(0), first_of_row.eq(0), row.eq(1), upper.eq(~upper)]
        low = w.payload.data[: len(stop)]
        empty_tile = (w.payload.kind == BARE) & (low <= TILE_LEVELS)
        return w.valid & (is_value & misshapen | empty_tile | ~is_value & inside)

    def _write(self, m, takes, address, row, w_data):
        """Write a beat, late as read addresses are: a tile is complete before it is read."""
        params, spread = self.params, self.spread
        reached = 1 if params.any_k else params.k % self.lanes or self.lanes
        w_addr = delayed(m, address, spread, reset_less=True)
        w_data = delayed(m, w_data, spread, reset_less=True)
        zeros = delayed(m, row[0], spread, reset_less=True)
        for index, bank in enumerate(self.banks):
            written, given = row[index], w_data
            if not params.transposed and index >= reached:
                written, given = written | row[0], Mux(zeros, 0, w_data)
            m.d.comb += [
                bank.w_en.eq(delayed(m, takes & written, spread)),
                bank.w_addr.eq(w_addr),
                bank.w_data.eq(given),
            ]

    def _measured(self, m, takes, row, ends_row, ends):
        """The size of a tile, with its last beat."""
        params, lanes = self.params, self.lanes
        size = Signal(size_of(params, lanes))
        beats, rows = (size.k, size.n) if params.transposed else (size.n, size.k)
        beat, group = Signal.like(beats), Signal.like(rows)
        with m.If(takes):
            m.d.sync += beat.eq(Mux(ends_row, 0, beat + 1))
            with m.If(ends_row & (ends | row[-1])):
                m.d.sync += group.eq(Mux(ends, 0, group + 1))
        m.d.comb += [beats.eq(beat), rows.eq(group)]
        if not params.transposed:
            m.d.comb += size.lacks.eq(self.w.payload.data[self.banks[0].width :])
        for index in range(lanes if params.transposed else 0):
            with m.If(row[index]):
                m.d.comb += size.lacks.eq(lanes - 1 - index)
        return size.as_value()
