"""Cuts tiles into parts of some columns, from a memory."""

from amaranth.hdl import Module, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import BARE, DONE, TILE_LEVELS, VALUE


class CutTileCore(UnitCore):
    """FlatMap of cut_cols, and of retile_streamify by columns, for tiles of several rows.

    One actor writes a tile row by row, another reads it part by part once it is complete. A
    queue of complete tiles joins them, and two buffers: the next tile is written meanwhile.

    Parameters
    ----------
    unit.params : CutTile

    Notes
    -----
    A beat of a part per cycle, also across tiles. Latency from the last beat of a tile
    to its first part 1 in addition to the FIFOs' and the memory's. Cost: the memory, two
    counters of its address width, and a multiplexer of the lanes. Rows of another number of beats
    and tiles of too many rows raise ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        lanes = self.design.lanes
        (inside,) = self.params.queues(self.unit, self.design)
        m.submodules.tiles = tiles = Fifo(inside)
        m.submodules.ram = ram = BlockRam(lanes * self.params.bits, self.params.depth(lanes))
        self._write(m, tiles.w, ram)
        self._read(m, tiles.r, ram)
        return m

    def _base_after(self, m, switch):
        """First address of the buffer after the current one; `switch` makes it the current one."""
        second = Signal()
        with m.If(switch):
            m.d.sync += second.eq(~second)
        return Mux(second, 0, self.params.tile_beats(self.design.lanes))

    def _write(self, m, tiles, ram):
        x, params = self.x, self.params
        kind, stop = x.payload.kind, x.payload.stop
        address, row = Signal(range(ram.depth)), Signal(range(params.rows + 1))
        begun = Signal()  # the tile has its buffer
        is_value, fire, takes, ends = Signal(), Signal(), Signal(), Signal()
        _, ends_row = counter(m, takes, params.slices(self.design.lanes))
        m.d.comb += [
            is_value.eq(kind == VALUE),
            fire.eq(x.valid & (begun | tiles.ready)),
            takes.eq(fire & is_value),
            ends.eq(is_value & (stop >= TILE_LEVELS)),
            x.ready.eq(fire),
            ram.w_en.eq(takes),
            ram.w_addr.eq(address),
            ram.w_data.eq(x.payload.data[: self.design.lanes * params.bits]),
            tiles.valid.eq(fire & (ends | ~is_value)),
            tiles.payload.kind.eq(kind),
            tiles.payload.stop.eq(stop),
            tiles.payload.data.eq(Mux(is_value, row, x.payload.data[: len(stop)])),
        ]
        base = self._base_after(m, takes & ends)
        with m.If(takes):
            m.d.sync += [begun.eq(~ends), address.eq(Mux(ends, base, address + 1))]
            with m.If(ends | (stop != 0)):
                m.d.sync += row.eq(Mux(ends, 0, Mux(row == params.rows, row, row + 1)))
        misshapen = ((stop != 0) != ends_row) | (row == params.rows)
        m.d.sync += self.error.eq(fire & Mux(is_value, misshapen, begun))

    def _read(self, m, tiles, ram):
        y, params, lanes = self.y, self.params, self.design.lanes
        kind, stop, last_of_tile = tiles.payload.kind, tiles.payload.stop, tiles.payload.data
        low = last_of_tile[: len(stop)]
        is_value, is_tile, fire = Signal(), Signal(), Signal()
        last_row, ends_part, ends = Signal(), Signal(), Signal()
        slices = params.part_slices(lanes)
        _, last_slice = counter(m, fire & is_value, slices)
        _, last_part = counter(m, fire & is_tile & ends_part, params.parts_of_row)
        row, address = Signal(range(params.rows)), Signal(range(ram.depth))
        first = Signal.like(address)  # of the part
        per_beat = max(1, lanes // params.width)
        place = Signal(range(per_beat))  # of the part in its beat
        m.d.comb += [
            is_value.eq(kind == VALUE),
            is_tile.eq(is_value | (kind == BARE) & (low == TILE_LEVELS)),
            last_row.eq(~is_value | (row == last_of_tile)),
            ends_part.eq(~is_value | last_row & last_slice),
            ends.eq(~is_tile | ends_part & last_part),
            fire.eq(tiles.valid & y.ready),
            y.valid.eq(tiles.valid),
            tiles.ready.eq(fire & ends),
            ram.r_addr.eq(address),
        ]
        base = self._base_after(m, fire & is_value & ends)
        with m.If(fire & is_value):
            next_row = params.slices(lanes) - (slices - 1)
            m.d.sync += address.eq(address + Mux(last_slice, next_row, 1))
            with m.If(last_slice):
                m.d.sync += row.eq(Mux(last_row, 0, row + 1))
            with m.If(ends_part):
                ends_beat = place == per_beat - 1
                after = Mux(ends, base, Mux(ends_beat, first + slices, first))
                m.d.sync += [first.eq(after), address.eq(after)]
                m.d.sync += place.eq(Mux(ends | ends_beat, 0, place + 1))

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        closing = Mux(ends, stop + (kind != DONE), TILE_LEVELS)
        part = ram.r_data.word_select(late(place), min(params.width, lanes) * params.bits)
        m.d.comb += [
            y.payload.kind.eq(late(kind)),
            y.payload.stop.eq(late(Mux(ends_part, closing, last_slice)[: len(y.payload.stop)])),
            y.payload.data.eq(
                Mux(late(is_value), part, late(Mux(kind == BARE, low + ~is_tile, 0)))
            ),
        ]
