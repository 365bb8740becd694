"""Turns each L rows of a tile, so that a beat is a column of them."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal

from stepgen.hw.design import stages
from stepgen.hw.fifo import Fifo
from stepgen.hw.primitives import BlockRam, counter, delayed
from stepgen.hw.unit import UnitCore
from stepgen.ir.wire import TILE_LEVELS, VALUE


class TurnSlicesCore(UnitCore):
    """In front of a product whose weights ``[K, N]`` stream through in slices of K.

    One actor writes rows to a memory per lane, another reads a block of L rows column by column
    once it is complete. A queue of complete blocks joins them, and two buffers. Element j of slice
    s of row i is in memory ``(i + j) % L``, at ``s * L + i``: those of a beat of ``x`` are in
    different memories, and so are those of a column.

    Parameters
    ----------
    unit.params : TurnSlices

    Notes
    -----
    A column per cycle, also across blocks and tiles: L rows of N elements take as long to be read
    as to be written, where L divides N. Latency from the last beat of a block to its first column 1
    in addition to the FIFOs' and the memory's. Cost: the memories, and two rotations of a beat.
    Rows of another number of beats raise ``error``.
    Resources: ``benchmarks/RESULTS.md``, u1.
    """

    def elaborate(self, platform):
        m = Module()
        lanes, bits = self.design.lanes, self.params.bits
        (inside,) = self.params.queues(self.unit, self.design)
        m.submodules.blocks = blocks = Fifo(inside)
        (ram, *_) = rams = self.params.rams(self.unit, self.design)
        banks = [BlockRam(bits, ram.rows) for _ in rams]
        for n, bank in enumerate(banks):
            m.submodules[f"bank_{n}"] = bank
        assert len(banks) == lanes
        self._write(m, blocks.w, banks)
        self._read(m, blocks.r, banks)
        return m

    def _base_after(self, m, switch):
        """First address of the buffer after the current one; `switch` makes it the current one."""
        second = Signal()
        with m.If(switch):
            m.d.sync += second.eq(~second)
        return Mux(second, 0, self.params.block(self.design.lanes))

    def _write(self, m, blocks, banks):
        x, params, lanes = self.x, self.params, self.design.lanes
        kind, stop = x.payload.kind, x.payload.stop
        first, address = Signal(range(banks[0].depth)), Signal(range(banks[0].depth))
        row, begun = Signal(range(lanes)), Signal()
        is_value, fire, takes, ends = Signal(), Signal(), Signal(), Signal()
        _, ends_row = counter(m, takes, params.slices(lanes))
        m.d.comb += [
            is_value.eq(kind == VALUE),
            fire.eq(x.valid & (begun | blocks.ready)),
            takes.eq(fire & is_value),
            ends.eq(ends_row & ((row == lanes - 1) | (stop >= TILE_LEVELS))),
            x.ready.eq(fire),
            blocks.valid.eq(fire & (ends | ~is_value)),
            blocks.payload.kind.eq(kind),
            blocks.payload.stop.eq(stop),
            blocks.payload.data.eq(Mux(is_value, row, x.payload.data[: len(stop)])),
        ]
        elements = [x.payload.data.word_select(n, params.bits) for n in range(lanes)]
        for bank, element in zip(banks, _rotated(elements, row, right=True), strict=True):
            m.d.comb += [
                bank.w_en.eq(takes),
                bank.w_addr.eq(address),
                bank.w_data.eq(element),
            ]
        base = self._base_after(m, takes & ends)
        with m.If(takes):
            m.d.sync += [begun.eq(~ends), address.eq(address + lanes)]
            with m.If(ends_row):
                following = Mux(ends, base, first + 1)
                m.d.sync += [
                    row.eq(Mux(ends, 0, row + 1)),
                    first.eq(following),
                    address.eq(following),
                ]
        misshapen = (stop != 0) != ends_row
        m.d.sync += self.error.eq(fire & Mux(is_value, misshapen, begun))

    def _read(self, m, blocks, banks):
        y, params, lanes = self.y, self.params, self.design.lanes
        kind, stop, last_row = blocks.payload.kind, blocks.payload.stop, blocks.payload.data
        address = Signal(range(banks[0].depth))  # of the slice
        is_value, fire, ends = Signal(), Signal(), Signal()
        _, last = counter(m, fire & is_value, params.columns)
        lane = Signal(range(lanes))
        m.d.comb += [
            is_value.eq(kind == VALUE),
            ends.eq(~is_value | last),
            fire.eq(blocks.valid & y.ready),
            y.valid.eq(blocks.valid),
            blocks.ready.eq(fire & ends),
        ]
        base = self._base_after(m, fire & is_value & ends)
        with m.If(fire & is_value):
            ends_slice = lane == lanes - 1
            m.d.sync += lane.eq(Mux(ends | ends_slice, 0, lane + 1))
            with m.If(ends):
                m.d.sync += address.eq(base)
            with m.Elif(ends_slice):
                m.d.sync += address.eq(address + lanes)
        rows = [*range(lanes)]
        for n, bank in enumerate(banks):
            row = Array((n - k) % lanes for k in rows)[lane]
            m.d.comb += bank.r_addr.eq(address + row)

        def late(value):
            return delayed(m, value, stages.BLOCK_RAM, reset_less=True)

        column = _rotated([bank.r_data for bank in banks], late(lane), right=False)
        used = late(Mux(is_value, last_row, 0)[: len(lane)])
        column = [Mux(used >= n, element, 0) for n, element in enumerate(column)]
        low = Mux(is_value, 0, blocks.payload.data)[: len(stop)]
        m.d.comb += [
            y.payload.kind.eq(late(kind)),
            y.payload.stop.eq(late(Mux(ends, stop, 0))),
            y.payload.data.eq(Mux(late(is_value), Cat(column), late(low))),
        ]


def _rotated(items, by, *, right):
    """The items, moved by a number of places; those that leave at one end enter at the other."""
    for n, bit in enumerate(by):
        places = (-1 if right else 1) * (1 << n) % len(items)
        moved = items[places:] + items[:places]
        items = [Mux(bit, a, b) for a, b in zip(moved, items, strict=True)]
    return items
