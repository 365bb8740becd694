"""Draws programs of all operators and functions for the timing engine on tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import stepgen as sg
from stepgen.fuzz.generators.plain import PlainProgram
from stepgen.ir.stream import Stream
from stepgen.semantics import executor

TILES = 40
"""Tiles of a tensor that is read by address."""


class TileProgram(PlainProgram):
    """A program of operators with and without a circuit; any tile may have any element type."""

    def __init__(self, seed: int, steps: Sequence[tuple[str, int]]) -> None:
        self.longest = TILES - 1
        self.shortest = 0
        super().__init__(seed, steps)

    def value(self, dtype: Any) -> Any:
        """An element of an input: addresses stay within a tensor, ranges too."""
        if isinstance(dtype, sg.Selector):
            bits = self.rng.random(dtype.n) < 0.5
            if dtype.hot is not None:
                bits[:] = False
                bits[self.rng.permutation(dtype.n)[: dtype.hot]] = True
            return bits
        if dtype.element is sg.address:
            if dtype.cols == 2:
                length = self.number(self.shortest, 4)
                return np.array([[self.number(0, TILES - 4), length]])
            return np.array([[self.number(self.shortest, self.longest)]])
        if dtype.element in (sg.bf16, sg.f32):
            size = (self.extent(dtype.rows), self.extent(dtype.cols))
            number = np.float32 if dtype.element is sg.f32 else ml_dtypes.bfloat16
            return self.rng.normal(size=size).astype(number)
        return super().value(dtype)

    def tensor(self, name: str, shape: tuple[int, int], element: Any) -> Any:
        """A tensor with contents."""
        kind = ml_dtypes.bfloat16 if element is sg.bf16 else element.name.replace("f32", "float32")
        self.inputs[name] = np.ones(shape, kind)
        return self.graph.tensor(name, shape, element)

    def table(self, name: str) -> tuple[Any, tuple[int, int]]:
        """A tensor that is read tile by tile, and its tile."""
        tile = self.number(1, 3), 2 * self.number(1, 3)
        element = self.pick(sg.int8, sg.bf16, sg.f32)
        return self.tensor(name, (TILES * tile[0], tile[1]), element), tile

    def look_up(self, addresses: Stream, name: str) -> Stream:
        """The tiles that addresses name."""
        table, tile = self.table(f"{name}_table")
        return sg.random_offchip_load(addresses, table, tile=tile)

    def lengths(self) -> list[Any]:
        """Dims of a stream of its own."""
        return [self.dim(ragged=n > 0) for n in range(self.number(1, 2))]

    def keep(self, stream: Stream, name: str) -> None:
        """Make a stream an output of the program, or leave it without a reader."""
        if self.number(0, 2):
            self.graph.output(stream, name)

    def floats(self, x: Stream) -> Stream:
        """The stream as floating-point numbers."""
        floating = x.dtype.element in (sg.bf16, sg.f32)
        return x if floating else x.map(sg.fn.convert(self.pick(sg.bf16, sg.f32)))

    def buffers(self, x: Stream) -> Stream:
        """Chunks of a stream in buffers."""
        deep = x if x.rank else x.promote()
        return deep.bufferize(rank=self.number(1, deep.rank))

    def step_buffer_once(self, x: Stream, name: str) -> Stream:
        buffers = self.buffers(x)
        if self.number(0, 1):
            self.graph.output(buffers.streamify(count=2), f"{name}_twice")
        return buffers.streamify()

    def step_buffer_count(self, x: Stream, _: str) -> Stream:
        return self.buffers(x).streamify(count=self.number(1, 3))

    def step_buffer_ref(self, x: Stream, name: str) -> Stream:
        buffers = self.buffers(x)
        more = [self.dim(ragged=True) for _ in range(self.number(0, 2))]
        return buffers.streamify(self.beside(name, sg.Selector(2), buffers, *more))

    def step_buffer_affine(self, x: Stream, _: str) -> Stream:
        buffers = x.reshape(chunk=4)[0].bufferize(rank=1)
        shape, stride = self.pick(([4], [1]), ([2, 2], [1, 2]), ([3, 2], [1, 0]), ([2], [3]))
        return buffers.streamify(shape=shape, stride=stride, count=self.pick(None, 2))

    def step_buffer_route(self, x: Stream, name: str) -> Stream:
        """Buffers dropped, kept by one, or kept by several."""
        buffers = self.buffers(x)
        sel = self.beside(name, sg.Selector(self.number(1, 3)), buffers)
        parts = sg.partition(buffers, sel, rank=0)
        for i, part in enumerate(parts[1:]):
            self.keep(self.pick(part, part.streamify()), f"{name}_{i}")
        return parts[0].streamify(count=self.pick(None, 2))

    def step_zip(self, x: Stream, name: str) -> Stream:
        other = self.beside(name, x.dtype, x) if self.number(0, 1) else x
        pairs = x.zip(other)
        if self.number(0, 1):
            self.graph.output(pairs, f"{name}_pairs")
        return pairs.map(self.pick(sg.fn.add(), sg.fn.mul(), sg.fn.minimum()))

    def step_zip_fold(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        weight = sg.Tile(x.dtype.cols, 2 * self.number(1, 3), x.dtype.element)
        return x.zip(self.beside(name, weight, x)).accum(sg.fn.matmul(), rank=max(1, x.rank))

    def step_zip_numbers(self, x: Stream, name: str) -> Stream:
        """Tuples of selectors and tiles, passed on unchanged."""
        sel = self.beside(name, sg.Selector(2), x)
        self.graph.output(x.zip(sel.zip(x)), f"{name}_tuples")
        return x

    def step_scan(self, x: Stream, _: str) -> Stream:
        fn = self.pick(sg.fn.add(), sg.fn.maximum(), sg.fn.mul())
        return x.scan(fn, rank=self.number(1, max(1, x.rank)))

    def step_scan_matmul(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        weight = sg.Tile(x.dtype.cols, 2 * self.number(1, 3), x.dtype.element)
        w = self.beside(name, weight, x)
        return x.scan(sg.fn.matmul(), w, rank=self.number(1, max(1, x.rank)))

    def step_fold(self, x: Stream, _: str) -> Stream:
        fn = self.pick(sg.fn.add(), sg.fn.minimum(), sg.fn.mul())
        return x.accum(fn, rank=self.number(1, max(1, x.rank)))

    def step_fold_matmul(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        cols = 2 * self.number(1, 3)
        turned = self.pick(True, False)
        weight = (cols, x.dtype.cols) if turned else (x.dtype.cols, cols)
        w = self.beside(name, sg.Tile(*weight, x.dtype.element), x)
        fn = sg.fn.matmul(transpose=turned)
        return x.accum(fn, w, rank=self.number(1, max(1, x.rank)))

    def step_count(self, x: Stream, name: str) -> Stream:
        rank = self.number(1, max(1, x.rank))
        if self.number(0, 1):
            self.graph.output(x.scan(sg.fn.count(), rank=rank), f"{name}_each")
        counts = x.accum(sg.fn.count(), rank=rank)
        self.graph.output(counts, f"{name}_count")
        return self.look_up(counts, name)

    def step_merge(self, x: Stream, name: str) -> Stream:
        rank = self.number(0, x.rank)
        outer = x.shape[: len(x.shape) - rank]
        if any(d.is_ragged or (d.static is None and str(d) not in self.extents) for d in outer):
            raise sg.StepError("selectors can't be drawn with a shape that another stream decides")
        sel = self.input(name, sg.Selector(self.number(1, 3)), outer)
        parts = sg.partition(x, sel, rank=rank)
        data, names = sg.eager_merge(parts, rank=rank)
        if self.number(0, 1):
            return data
        back = sg.partition(data, names, rank=rank)
        for i, part in enumerate(back[1:]):
            self.keep(part, f"{name}_{i}")
        return back[0]

    def step_merge_own(self, x: Stream, name: str) -> Stream:
        """Streams that end at different times, empty ones too."""
        others = []
        for i in range(self.number(0, 2)):
            first = self.dim(ragged=False)
            others.append(self.input(f"{name}_{i}", x.dtype, [first, *x.shape[1:]]))
        data, _ = sg.eager_merge([x, *others], rank=x.rank)
        return data

    def step_random_load(self, x: Stream, name: str) -> Stream:
        addresses = self.input(name, sg.address[1, 1], self.lengths())
        self.keep(x, f"{name}_x")
        return self.look_up(addresses, name)

    def step_random_store(self, x: Stream, name: str) -> Stream:
        rows, cols = x.dtype.rows.static, x.dtype.cols.static
        if not rows or not cols:
            raise sg.StepError("tiles in memory have static extents")
        out = self.tensor(f"{name}_out", (TILES * rows, cols), x.dtype.element)
        addresses = self.beside(name, sg.address[1, 1], x)
        written = sg.random_offchip_store(addresses, x, out, tile=(rows, cols))
        self.keep(written, f"{name}_written")
        return x

    def step_linear_load(self, x: Stream, name: str) -> Stream:
        table, tile = self.table(f"{name}_table")
        shape, stride = self.pick(([3], [1]), ([2, 3], [4, 1]), ([2, 2, 2], [0, 5, 1]), ([1], [0]))
        ref = self.pick(None, x)
        if ref is None:
            self.keep(x, f"{name}_x")
        return sg.linear_offchip_load(table, tile=tile, shape=shape, stride=stride, ref=ref)

    def step_linear_store(self, x: Stream, name: str) -> Stream:
        cols = x.dtype.cols.static or 1
        out = self.tensor(f"{name}_out", (4000, cols), x.dtype.element)
        sg.linear_offchip_store(x, out)
        return x

    def step_fork(self, x: Stream, name: str) -> Stream:
        copies = sg.fork(x, self.number(1, 3))
        for i, copy in enumerate(copies[1:]):
            self.keep(copy, f"{name}_{i}")
        return copies[0]

    def step_elementwise(self, x: Stream, _: str) -> Stream:
        names = ("exp", "silu", "gelu", "tanh", "sqrt", "rsqrt", "reciprocal", "square")
        one, other = self.rng.choice([*names, "gelu_tanh"], 2, replace=False)
        return self.floats(x).map(getattr(sg.fn, one)()).map(getattr(sg.fn, other)())

    def step_constant(self, x: Stream, _: str) -> Stream:
        names = (sg.fn.scale(3), sg.fn.offset(-2), sg.fn.at_least(1), sg.fn.at_most(2))
        names += (sg.fn.rotate_pairs(),) * (int(x.dtype.cols) % 2 == 0)
        return x.map(self.pick(*names, sg.fn.running_max(1), sg.fn.shift_cols(by=1)))

    def step_lookup(self, x: Stream, _: str) -> Stream:
        numbers = x if x.dtype.element == sg.int8 else x.map(sg.fn.convert(sg.int8))
        return numbers.map(sg.fn.lookup(range(-128, 128), to=self.pick("int8", "bf16", "f32")))

    def step_binary(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        rows, cols = self.pick((x.dtype.rows, x.dtype.cols), (1, x.dtype.cols), (x.dtype.rows, 1))
        other = self.beside(name, sg.Tile(rows, cols, x.dtype.element), x)
        both = self.pick((x, other), (other, x))
        return both[0].map(self.pick(sg.fn.sub(), sg.fn.div(), sg.fn.maximum()), both[1])

    def step_of_rows(self, x: Stream, _: str) -> Stream:
        x = self.floats(x).map(sg.fn.convert(sg.f32))
        each = x.map(self.pick(sg.fn.row_max(), sg.fn.row_sum()))
        if self.number(0, 1):
            each = each.map(sg.fn.row_broadcast(x.dtype.cols.static or 1))
        return x.map(sg.fn.sub(), each)

    def step_requantize(self, x: Stream, name: str) -> Stream:
        """By two numbers, or by two streams."""
        x = x.map(sg.fn.convert(sg.int32))
        if self.number(0, 1):
            return super().step_requantize(x, name)
        rows, cols = self.pick((x.dtype.rows, 1), (1, x.dtype.cols), (1, 1))
        scales = []
        for n, element in enumerate((sg.int32, sg.int8)):
            scale = self.beside(f"{name}_{n}", sg.Tile(rows, cols, element), x)
            scales.append(scale.map(sg.fn.at_least(0)).map(sg.fn.at_most(31)))
        return x.map(sg.fn.requantize_by(), *scales)

    def step_compare(self, x: Stream, name: str) -> Stream:
        self.graph.output(x.map(sg.fn.compare(op="lt"), x), name)
        return x

    def step_matmul_turned(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        weight = sg.Tile(2 * self.number(1, 3), x.dtype.cols, x.dtype.element)
        return x.map(sg.fn.matmul(transpose=True), self.beside(name, weight, x))

    def step_matmul_add(self, x: Stream, name: str) -> Stream:
        x = self.floats(x)
        cols = 2 * self.number(1, 3)
        w = self.beside(name, sg.Tile(x.dtype.cols, cols, x.dtype.element), x)
        start = self.beside(f"{name}_start", sg.f32[1, cols], x)
        return x.map(sg.fn.matmul_add(), w, start)

    def step_experts(self, x: Stream, name: str) -> Stream:
        n = self.number(1, 3)
        hot = self.pick(None, self.number(0, n))
        sel = self.input(name, sg.Selector(n, hot=hot), self.lengths())
        self.keep(x, f"{name}_x")
        ones = sel if hot and self.number(0, 1) else sel.flat_map(sg.fn.one_hot(), rank=1)
        addresses = ones.flat_map(sg.fn.tile_addresses(self.number(1, 4)), rank=self.pick(0, 1))
        self.graph.output(addresses, f"{name}_addresses")
        return self.look_up(addresses, name)

    def step_numbered(self, x: Stream, name: str) -> Stream:
        self.longest = 9
        numbers = self.beside(name, sg.address[1, 1], x)
        self.longest = TILES - 1
        self.keep(x, f"{name}_x")
        return self.look_up(numbers.flat_map(sg.fn.tile_addresses(4), rank=self.pick(0, 1)), name)

    def step_top_k(self, x: Stream, name: str) -> Stream:
        """What is chosen steers nothing: programs are timed without data."""
        n = self.number(1, 4)
        scores = self.beside(name, sg.Tile(1, n, self.pick(sg.bf16, sg.f32)), x)
        k = self.number(1, n)
        self.graph.output(scores.map(sg.fn.top_k_scores(k)), f"{name}_scores")
        self.graph.output(scores.map(sg.fn.top_k(k)), f"{name}_chosen")
        return x

    def step_selectors_of_flags(self, x: Stream, name: str) -> Stream:
        """What is chosen steers nothing, but flags of selectors are tiles that take time."""
        flags = self.beside(name, sg.Tile(1, self.number(1, 4), sg.bool_), x)
        chosen = flags.map(sg.fn.as_selector(bool(self.number(0, 1))))
        again = chosen.map(sg.fn.as_flags())
        self.graph.output(again.map(sg.fn.convert(self.pick(sg.bf16, sg.f32))), name + "_again")
        return x

    def step_weights(self, x: Stream, name: str) -> Stream:
        """One number per bit of a selector, routed like the elements."""
        n = self.number(1, 3)
        sel = self.beside(name, sg.Selector(n), x)
        ones = sel.flat_map(sg.fn.one_hot(), rank=1)
        each = x.promote(0).expand(ones)
        parts = sg.partition(each.fifo(300), ones.fifo(300), rank=0)
        return sg.reassemble([p.fifo(300) for p in parts], sel.fifo(300), rank=0, order="arrival")

    def step_span(self, x: Stream, name: str) -> Stream:
        self.shortest = self.number(0, 1)
        positive = self.shortest > 0
        ranges = self.input(name, sg.address[1, 2], self.lengths())
        if self.number(0, 1):
            self.longest = 4
            start = self.beside(f"{name}_start", sg.address[1, 1], ranges)
            length = self.beside(f"{name}_length", sg.address[1, 1], ranges)
            self.graph.output(ranges, f"{name}_ranges")
            ranges = start.map(sg.fn.as_range(), length)
            self.longest = TILES - 1
        self.shortest = 0
        self.keep(x, f"{name}_x")
        addresses = ranges.flat_map(sg.fn.span(self.pick(None, 4), positive), rank=1)
        self.graph.output(addresses, f"{name}_addresses")
        return self.look_up(addresses, name)

    def step_span_last(self, x: Stream, name: str) -> Stream:
        self.shortest = 1
        ranges = self.input(name, sg.address[1, 2], self.lengths())
        self.shortest = 0
        self.keep(x, f"{name}_x")
        tiles = self.look_up(ranges.flat_map(sg.fn.span(), rank=1), name)
        which = self.pick(sg.fn.span_last(), sg.fn.span_first())
        last, others = sg.partition(tiles, ranges.flat_map(which, rank=1), rank=0)
        self.keep(others, f"{name}_others")
        ends = self.look_up(ranges.map(sg.fn.span_end()), f"{name}_end")
        self.graph.output(ends, f"{name}_ends")
        return last

    def step_place_row(self, x: Stream, name: str) -> Stream:
        rows = x.dtype.rows.static
        if not rows:
            raise sg.StepError("a row is placed in a tile of known rows")
        count = self.number(1, rows)
        row = self.beside(f"{name}_row", sg.Tile(count, x.dtype.cols, x.dtype.element), x)
        self.longest = rows - count
        index = self.beside(name, sg.address[1, 1], x)
        self.longest = TILES - 1
        place = self.pick(sg.fn.place_rows(), sg.fn.place_row()) if count == 1 else None
        return x.map(place or sg.fn.place_rows(), row, index)

    def step_mask(self, x: Stream, name: str) -> Stream:
        self.longest = 3
        count = self.beside(name, sg.address[1, 1], x)
        other = self.beside(f"{name}_col", sg.address[1, 1], x)
        self.longest = TILES - 1
        if self.number(0, 1):
            fn = self.pick(sg.fn.mask_causal, sg.fn.mask_cols, sg.fn.mask_rows)
            return x.map(fn(0, self.pick(None, 2)), count, other)
        self.graph.output(other, f"{name}_other")
        return x.map(self.pick(sg.fn.mask_cols, sg.fn.mask_rows)(0), count)

    def step_calculated(self, x: Stream, name: str) -> Stream:
        """Addresses computed of others, what they name, and flags of them."""
        self.longest = 9
        one, other = (self.beside(f"{name}_{n}", sg.address[1, 1], x) for n in range(2))
        self.longest = TILES - 1
        fn = self.pick(
            sg.fn.offset(self.number(-1, 3)),
            sg.fn.scale(self.number(0, 3)),
            sg.fn.at_least(self.number(0, 9)),
            sg.fn.at_most(self.number(0, 9)),
        )
        pair = self.pick(sg.fn.add, sg.fn.sub, sg.fn.maximum, sg.fn.minimum)()
        op = self.pick("lt", "le", "eq", "ne", "ge", "gt")
        at = one.map(fn)
        self.keep(at.map(sg.fn.compare(op), other), f"{name}_flags")
        self.keep(at.map(sg.fn.convert(sg.f32)), f"{name}_numbers")
        self.keep(self.look_up(at.map(pair, other), name), f"{name}_found")
        self.keep(at.map(sg.fn.compare(op, self.number(0, 9))), f"{name}_compared")
        return x

    def step_located(self, x: Stream, name: str) -> Stream:
        """Where the largest of a row, or of a chunk of rows, is: as numbers and as addresses."""
        fn = self.pick(sg.fn.argmax, sg.fn.argmin)
        rows = self.beside(f"{name}_rows", sg.Tile(1, self.number(1, 5), x.dtype.element), x)
        self.keep(x.map(fn(sg.int32)), f"{name}_numbers")
        at = self.pick(rows.map(fn()), rows.map(fn(sg.int32)).map(sg.fn.convert(sg.address)))
        self.keep(at.map(sg.fn.convert(sg.f32)), f"{name}_of_rows")
        deep = self.input(f"{name}_deep", rows.dtype, [self.number(1, 3), self.number(1, 3)])
        self.keep(deep.accum(fn(), rank=self.number(1, 1)), f"{name}_of_all")
        return x

    def step_where(self, x: Stream, name: str) -> Stream:
        """Elements, rows or tiles chosen by flags, from another tile or a number."""
        rows, cols = (self.pick(dim, 1) for dim in x.dtype.dims)
        flags = self.beside(f"{name}_flags", sg.Tile(rows, cols, sg.bool_), x)
        rows, cols = (self.pick(dim, 1) for dim in x.dtype.dims)
        other = self.beside(f"{name}_other", sg.Tile(rows, cols, x.dtype.element), x)
        way = self.number(0, 3)
        if way == 0:
            return flags.map(sg.fn.where(), other, x)
        if way == 1:
            self.keep(other, f"{name}_unused")
            return flags.map(sg.fn.where(then=1), x)
        self.keep(flags.map(sg.fn.where(0, 1, "bf16")), f"{name}_numbers")
        return flags.map(sg.fn.where(), x, other)

    def step_logic(self, x: Stream, name: str) -> Stream:
        """Flags and selectors combined."""
        rows, cols = (self.pick(dim, 1) for dim in x.dtype.dims)
        which = self.pick(sg.fn.logical_and, sg.fn.logical_or, sg.fn.logical_xor)()
        dtype = self.pick(sg.Tile(rows, cols, sg.bool_), sg.bool_[1, 1], sg.Selector(3))
        one, other = (self.beside(f"{name}_{n}", dtype, x) for n in range(2))
        both = one.map(which, other).map(sg.fn.logical_not())
        if dtype == sg.Selector(3):
            both = both.map(sg.fn.as_flags())
        self.graph.output(both.map(sg.fn.convert(sg.f32)), f"{name}_numbers")
        return x

    def step_flags(self, x: Stream, name: str) -> Stream:
        """Flags joined to tiles, as numbers, and given from outside."""
        flags = self.beside(name, sg.bool_[1, 1], x)
        self.graph.output(flags.accum(sg.fn.retile_row(), rank=1), f"{name}_joined")
        self.graph.output(flags.map(sg.fn.convert(sg.f32)), f"{name}_numbers")
        return x

    def step_addresses_kept(self, x: Stream, name: str) -> Stream:
        """Addresses through a buffer."""
        numbers = self.input(name, sg.address[1, 1], self.lengths())
        self.keep(x, f"{name}_x")
        return self.look_up(self.buffers(numbers).streamify(count=2), name)

    def step_addresses_loaded(self, x: Stream, name: str) -> Stream:
        """Addresses from a tensor."""
        numbers = self.graph.tensor(f"{name}_numbers", (8, 1), sg.address)
        self.inputs[f"{name}_numbers"] = self.rng.integers(0, TILES, (8, 1))
        self.keep(x, f"{name}_x")
        places = sg.linear_offchip_load(numbers, tile=(1, 1), shape=(2, 4), stride=(4, 1))
        return self.look_up(places, name)

    def step_fold_groups(self, x: Stream, _: str) -> Stream:
        """One fold over several dims, with empty groups in it."""
        return x.promote(0).expand(count=2).accum(sg.fn.add(), rank=min(2, x.rank + 1))


def runs(program: TileProgram) -> None:
    """Accept programs that the reference runs; raises a `StepError` for others."""
    executor.run(program.graph, program.inputs)
