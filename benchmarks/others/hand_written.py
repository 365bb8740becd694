"""A matrix unit and an expert as one writes them by hand, for one shape each.

They have the streams of stepgen's circuits, stall like them and send the same values in the same
order. They leave out what one leaves out by hand: they look at no stop but the end of a tile, so no
shape is checked, and know neither empty tiles nor the end of a run. A slice of results takes k /
lanes steps, one after the other: so there are few accumulators, and a row of x is read once for
each slice.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from stepgen.hw.design import stages
from stepgen.hw.matrix import Dot
from stepgen.hw.primitives import BlockRam, counter, delayed, read_at_once

BITS = 8
AHEAD = 1 + stages.BLOCK_RAM
"""Cycles from a step to its factors: a register of the address, and block RAM."""
ROW, TILE, GROUP = 1, 2, 3
"""What a beat closes, as stop levels of stepgen."""
RESULTS = 16
"""Slices of results that there is room for."""


def slices(lanes, bits=BITS):
    """A slice of a row, and the level that it closes."""
    numbers = data.ArrayLayout(signed(bits), lanes)
    return data.StructLayout({"stop": 2, "data": numbers})


def rows_of(lanes, k):
    """How steps read a store of x: ``x`` is slice ``k`` of the row, `AHEAD` cycles later.

    ``ends`` is the last step of a row, which closes ``stop``; ``more`` is whether another one is
    there.
    """
    x = data.ArrayLayout(signed(BITS), lanes)
    parts = {"k": Out(range(k // lanes)), "ends": Out(1)}
    return wiring.Signature(parts | {"more": In(1), "stop": In(2), "x": In(x)})


class Matrix(wiring.Component):
    """Tiles of x, [any, k], times tiles of w, [k, n].

    Parameters
    ----------
    lanes, k, n : int
        Powers of two.

    Members
    -------
    x, w : ``In(stream)``
        Rows of tiles, int8.
    y : ``Out(stream)``
        Rows of tiles, int32.
    """

    def __init__(self, lanes, k, n):
        self.lanes, self.k, self.n = lanes, k, n
        beat = stream.Signature(slices(lanes))
        sums = stream.Signature(slices(lanes, 32))
        super().__init__({"x": In(beat), "w": In(beat), "y": Out(sums)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = Rows(self.lanes, self.k)
        m.submodules.products = products = Products(self.lanes, self.k, self.n)
        m.submodules.fifo = fifo = Fifo(products.y.shape(), RESULTS)
        wiring.connect(m, wiring.flipped(self.x), rows.i)
        wiring.connect(m, wiring.flipped(self.w), products.w)
        wiring.connect(m, products.rows, rows.o)
        m.d.comb += [
            products.room.eq(fifo.room),
            fifo.take.eq(products.begins),
            fifo.push.eq(products.valid),
            fifo.i.eq(products.y),
            self.y.valid.eq(fifo.o.valid),
            fifo.o.ready.eq(self.y.ready),
            self.y.payload.stop.eq(fifo.o.payload.stop),
        ]
        for wide, narrow in zip(self.y.payload.data, fifo.o.payload.data, strict=True):
            m.d.comb += wide.eq(narrow)
        return m


class Expert(wiring.Component):
    """A tile of x times the tiles of a weight, one after the other, requantized by a shift.

    Parameters
    ----------
    lanes, k, n : int
        As of `Matrix`; k is lanes times lanes at least.
    rows, tiles : int
        Most rows of x, and tiles of the weight, powers of two.
    shift : int
        At least 1: sums are divided by its power of two, rounded and saturated.

    Members
    -------
    x, w, y : ``In(stream)``, ``In(stream)``, ``Out(stream)``
        Rows of tiles, int8.
    """

    def __init__(self, lanes, k, n, rows, tiles, shift):
        self.lanes, self.k, self.n = lanes, k, n
        self.rows, self.tiles, self.shift = rows, tiles, shift
        beat = stream.Signature(slices(lanes))
        super().__init__({"x": In(beat), "w": In(beat), "y": Out(beat)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.tile = tile = Tile(self.lanes, self.k, self.rows, self.tiles)
        m.submodules.products = products = Products(self.lanes, self.k, self.n)
        m.submodules.fifo = fifo = Fifo(slices(self.lanes), RESULTS)
        wiring.connect(m, wiring.flipped(self.x), tile.i)
        wiring.connect(m, wiring.flipped(self.w), products.w)
        wiring.connect(m, products.rows, tile.o)
        wiring.connect(m, fifo.o, wiring.flipped(self.y))
        # Sums come every k / lanes cycles, so one lane at a time is requantized.
        sums = products.y.data
        bits = sums.shape().elem_shape.width
        left = Signal(len(sums.as_value()), reset_less=True)
        rounded = Signal(signed(bits + 1 - self.shift), reset_less=True)
        result = Signal(len(fifo.i.data.as_value()), reset_less=True)
        # Ties go to the even number: half is added, or the largest that is less.
        odd = left[self.shift]
        half = Cat((~odd).replicate(self.shift - 1), odd)
        upper, sign = rounded[BITS - 1 :], rounded[-1]
        fits = upper.all() | ~upper.any()
        narrow = Mux(fits, rounded[:BITS], Cat((~sign).replicate(BITS - 1), sign))
        m.d.sync += [
            left.eq(Mux(products.valid, sums.as_value(), left >> bits)),
            rounded.eq(left[:bits].as_signed() + half >> self.shift),
            result.eq(Cat(result[BITS:], narrow)),
        ]
        m.d.comb += [
            products.room.eq(fifo.room),
            fifo.take.eq(products.begins),
            fifo.push.eq(delayed(m, products.valid, self.lanes + 2)),
            fifo.i.stop.eq(delayed(m, products.y.stop, self.lanes + 2, reset_less=True)),
            fifo.i.data.eq(result),
        ]
        return m


class Products(wiring.Component):
    """Steps through the rows of x and a tile of w, of which another one is loaded meanwhile.

    Members
    -------
    w : ``In(stream)``
    rows : ``Out``
        See `rows_of`.
    room : ``In(1)``
        Whether a slice of results may begin.
    begins : ``Out(1)``
        It does.
    valid, y : ``Out``
        A slice of results.
    """

    def __init__(self, lanes, k, n):
        self.lanes, self.k, self.n = lanes, k, n
        self.levels = (lanes - 1).bit_length()
        sum_bits = 2 * BITS + (k - 1).bit_length()
        super().__init__(
            {
                "w": In(stream.Signature(slices(lanes))),
                "rows": Out(rows_of(lanes, k)),
                "room": In(1),
                "begins": Out(1),
                "valid": Out(1),
                "y": Out(slices(lanes, sum_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, lanes = self.rows, self.lanes
        m.submodules.weights = weights = Weights(lanes, self.k, self.n)
        m.submodules.dot = dot = Dot(lanes, lanes, BITS)
        wiring.connect(m, wiring.flipped(self.w), weights.i)

        active, turn, may = Signal(), Signal(), Signal()
        k, last_k = counter(m, active, self.k // lanes)
        n, last_n = counter(m, active & last_k, self.n // lanes)
        m.d.comb += [
            rows.k.eq(k),
            rows.ends.eq(active & last_k & last_n),
            weights.ends.eq(rows.ends & (rows.stop >= TILE)),
            weights.at.eq(Cat(k, n)),
            turn.eq(~active | last_k),
            may.eq(rows.more & weights.more & self.room),
            self.begins.eq(turn & may),
            dot.x.eq(rows.x),
            dot.w.eq(weights.block),
        ]
        with m.If(turn):
            m.d.sync += active.eq(may)

        late = AHEAD + stages.MULTIPLIER + self.levels
        first = delayed(m, k == 0, late, reset_less=True)
        for total, term in zip(self.y.data, dot.sums, strict=True):
            m.d.sync += total.eq(Mux(first, 0, total) + term)
        stop = Mux(last_n, rows.stop, 0)
        m.d.comb += [
            self.valid.eq(delayed(m, active & last_k, late + 1)),
            self.y.stop.eq(delayed(m, stop, late + 1, reset_less=True)),
        ]
        return m


class Weights(wiring.Component):
    """Two tiles of w: row r of a tile is in memory r modulo the lanes.

    Members
    -------
    i : ``In(stream)``
    ends : ``In(1)``
        A tile has been used.
    more : ``Out(1)``
        Another one is there.
    at : ``In``
        Slices of k and n of the tile that is used.
    block : ``Out``
        What is there, `AHEAD` cycles later.
    """

    def __init__(self, lanes, k, n):
        self.lanes, self.k_slices, self.n_slices = lanes, k // lanes, n // lanes
        row = data.ArrayLayout(signed(BITS), lanes)
        super().__init__(
            {
                "i": In(stream.Signature(slices(lanes))),
                "ends": In(1),
                "more": Out(1),
                "at": In(range(self.k_slices * self.n_slices)),
                "block": Out(data.ArrayLayout(row, lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        push, filled, put_half, half = Signal(), Signal(), Signal(), Signal()
        row = Signal(self.lanes, init=1)
        n, last_n = counter(m, push, self.n_slices)
        k, last_k = counter(m, push & last_n & row[-1], self.k_slices)
        m.d.comb += [
            push.eq(self.i.valid & self.i.ready),
            filled.eq(push & last_n & row[-1] & last_k),
        ]
        _two(m, filled, self.ends, self.i.ready, self.more)
        with m.If(push & last_n):
            m.d.sync += row.eq(row.rotate_left(1))
        m.d.sync += [put_half.eq(put_half ^ filled), half.eq(half ^ self.ends)]

        write = delayed(m, Cat(k, n, put_half), 1, reset_less=True)
        written = delayed(m, self.i.payload.data.as_value(), 1, reset_less=True)
        read = delayed(m, Cat(self.at, half), 1, reset_less=True)
        for index in range(self.lanes):
            ram = BlockRam(self.lanes * BITS, 1 << len(read))
            m.submodules[f"row_{index}"] = ram
            m.d.comb += [
                ram.w_en.eq(delayed(m, push & row[index], 1)),
                ram.w_addr.eq(write),
                ram.w_data.eq(written),
                ram.r_addr.eq(read),
                self.block[index].eq(ram.r_data),
            ]
        return m


class Rows(wiring.Component):
    """Two rows of x, in LUT RAM.

    Members
    -------
    i : ``In(stream)``
    o : ``In``
        See `rows_of`.
    """

    def __init__(self, lanes, k):
        self.lanes, self.k_slices = lanes, k // lanes
        super().__init__({"i": In(stream.Signature(slices(lanes))), "o": In(rows_of(lanes, k))})

    def elaborate(self, platform):
        m = Module()
        push, filled, put_half, half = Signal(), Signal(), Signal(), Signal()
        k, last_k = counter(m, push, self.k_slices)
        m.d.comb += [push.eq(self.i.valid & self.i.ready), filled.eq(push & last_k)]
        _two(m, filled, self.o.ends, self.i.ready, self.o.more)
        m.d.sync += [put_half.eq(put_half ^ filled), half.eq(half ^ self.o.ends)]
        stops = Signal(data.ArrayLayout(2, 2))
        with m.If(filled):
            m.d.sync += stops[put_half].eq(self.i.payload.stop)

        numbers = self.i.payload.data.as_value()
        m.submodules.ram = ram = memory.Memory(
            shape=len(numbers), depth=2 * self.k_slices, init=[], attrs=read_at_once(platform)
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(push),
            write.addr.eq(Cat(k, put_half)),
            write.data.eq(numbers),
            read.addr.eq(Cat(self.o.k, half)),
            self.o.x.eq(delayed(m, read.data, AHEAD, reset_less=True)),
            self.o.stop.eq(stops[half]),
        ]
        return m


class Tile(wiring.Component):
    """A tile of x in block RAM, whose rows are read several times before the next one comes.

    Members
    -------
    i : ``In(stream)``
    o : ``In``
        See `rows_of`.
    """

    def __init__(self, lanes, k, rows, times):
        self.lanes, self.k_slices, self.rows, self.times = lanes, k // lanes, rows, times
        super().__init__({"i": In(stream.Signature(slices(lanes))), "o": In(rows_of(lanes, k))})

    def elaborate(self, platform):
        m = Module()
        push, full, last_row, used = Signal(), Signal(), Signal(), Signal()
        put, row = Signal(range(self.rows * self.k_slices)), Signal(range(self.rows))
        top = Signal.like(row)
        ends, closes = self.o.ends, push & (self.i.payload.stop >= TILE)
        _, last_time = counter(m, ends & last_row, self.times)
        m.d.comb += [
            self.i.ready.eq(~full),
            push.eq(self.i.valid & self.i.ready),
            used.eq(ends & last_row & last_time),
            self.o.more.eq(full & ~used),
            self.o.stop.eq(Mux(last_row, Mux(last_time, GROUP, TILE), ROW)),
        ]
        with m.If(push):
            m.d.sync += put.eq(Mux(closes, 0, put + 1))
        with m.If(ends):
            m.d.sync += row.eq(Mux(last_row, 0, row + 1))
        with m.If(closes):
            m.d.sync += [full.eq(1), top.eq(put >> (self.k_slices - 1).bit_length())]
        with m.If(used):
            m.d.sync += full.eq(0)
        m.d.sync += last_row.eq(row == top)  # a row takes several steps

        numbers = self.i.payload.data.as_value()
        m.submodules.ram = ram = BlockRam(len(numbers), self.rows * self.k_slices)
        m.d.comb += [
            ram.w_en.eq(delayed(m, push, 1)),
            ram.w_addr.eq(delayed(m, put, 1, reset_less=True)),
            ram.w_data.eq(delayed(m, numbers, 1, reset_less=True)),
            ram.r_addr.eq(delayed(m, Cat(self.o.k, row), 1, reset_less=True)),
            self.o.x.eq(ram.r_data),
        ]
        return m


class Fifo(wiring.Component):
    """A FIFO in LUT RAM; a beat has its place before it comes.

    Members
    -------
    room : ``Out(1)``
        Whether a place is neither taken nor promised; a register.
    take : ``In(1)``
        Promises one.
    push, i : ``In``
        The beat comes.
    o : ``Out(stream)``
    """

    def __init__(self, shape, depth):
        self.depth = depth
        super().__init__(
            {
                "room": Out(1, init=1),
                "take": In(1),
                "push": In(1),
                "i": In(shape),
                "o": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pop = self.o.valid & self.o.ready
        free = Signal(range(self.depth + 1), init=self.depth)
        with m.If(self.take & ~pop):
            m.d.sync += [free.eq(free - 1), self.room.eq(free != 1)]
        with m.Elif(pop & ~self.take):
            m.d.sync += [free.eq(free + 1), self.room.eq(1)]

        beat = self.i.as_value()
        m.submodules.ram = ram = memory.Memory(
            shape=len(beat), depth=self.depth, init=[], attrs=read_at_once(platform)
        )
        write, read = ram.write_port(), ram.read_port(domain="comb")
        put, _ = counter(m, self.push, self.depth)
        get, _ = counter(m, pop, self.depth)
        following = (get + 1)[: len(get)]
        m.d.comb += [
            write.en.eq(self.push),
            write.addr.eq(put),
            write.data.eq(beat),
            read.addr.eq(get),
            self.o.payload.eq(read.data),
        ]
        m.d.sync += self.o.valid.eq(self.push | Mux(pop, following != put, self.o.valid))
        return m


def _two(m, filled, used, free, more):
    """Two places, of which one is filled while the other is used.

    Parameters
    ----------
    m : Module
    filled, used : Value
        Whether a place is filled now, and whether one is no longer used.
    free, more : Signal
        They are set: whether a place may be filled, a register, and whether a filled one is there
        beside one that is no longer used.
    """
    count, full = Signal(range(3)), Signal()
    with m.If(filled & ~used):
        m.d.sync += [count.eq(count + 1), full.eq(count[0])]
    with m.Elif(used & ~filled):
        m.d.sync += [count.eq(count - 1), full.eq(0)]
    m.d.comb += [free.eq(~full), more.eq(count[1] | count[0] & ~used)]
