"""Draws accesses of memory by address, from inputs or from memory, and what moves addresses."""

from __future__ import annotations

import stepgen as sg
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.fuzz.generators.reconvergent import Bounded
from stepgen.hw.arithmetic.sums import SUMMED
from stepgen.ir.dims import product_bound
from stepgen.ir.dtypes import NUMBERS, ElementType, bool_, int4
from stepgen.ir.stream import Stream


class Addressed(Bounded):
    """A drawn program that also accesses tensors by address."""

    def addresses(self, name: str, x: Stream, tiles: int) -> Stream:
        """A new input of numbers of tiles, in the shape of a stream."""
        self.ranges[name] = range(tiles)
        return self.beside(name, sg.address[1, 1], x)

    def stored(self) -> tuple[ElementType, int]:
        """An element type of a tensor that is loaded, and columns of its tiles."""
        element, columns = self.pick(*NUMBERS, bool_, int4), self.columns()
        return element, columns + columns % element.packed

    def step_gather(self, x: Stream, name: str) -> Stream:
        """Tiles of any size by address, one for each element of a stream."""
        rows, tiles = self.number(1, 3), self.pick(1, 2, 5, 16, 33)
        element, columns = self.stored()
        tensor = self.graph.tensor(name, (rows * tiles, columns), element)
        at = self.moved(self.looked_up(x, name, tiles), name)
        self.graph.output(x, f"{name}_x")
        return sg.random_offchip_load(at, tensor, tile=(rows, columns))

    def step_scatter(self, x: Stream, name: str) -> Stream:
        """A tile of a stream written to each address; its flags are routed, or read by nobody."""
        tile = tile_of(x)
        if tile.rows.static is None:
            raise sg.StepError("only tiles of a static number of rows are written by address")
        tiles, across = self.pick(1, 2, 5, 33), self.number(1, 2)
        shape = (tile.rows.static * tiles, columns_of(x) * across)
        tensor = self.graph.tensor(name, shape, tile.element)
        at = self.looked_up(x, name, tiles * across)
        one, other = x.fork(2)
        done = sg.random_offchip_store(
            at, one, tensor, tile=(tile.rows.static, columns_of(x)), name=f"{name}_write"
        )
        if self.number(0, 2):
            self.graph.output(done, f"{name}_done")
        return other

    def looked_up(self, x: Stream, name: str, tiles: int) -> Stream:
        """Numbers of tiles, which are an input or lie in memory."""
        if self.number(0, 2):
            return self.addresses(f"{name}_at", x, tiles)
        size = self.number(1, 9)
        table = self.graph.tensor(f"{name}_table", (size, 1), sg.address)
        self.inputs[table.name] = self.rng.integers(0, tiles, (size, 1))
        if self.number(0, 2):
            places = self.addresses(f"{name}_places", x, size)
            return sg.random_offchip_load(places, table, tile=(1, 1))
        return sg.linear_offchip_load(table, tile=(1, 1), shape=(1,), stride=(0,), ref=x).flatten(
            0, 1
        )

    def moved(self, at: Stream, name: str) -> Stream:
        """The same addresses, by other ways."""
        way = self.number(0, 7)
        if way == 0:
            return at.promote(0).flatten(0, 1)
        if way == 1:
            one, other = at.fork(2)
            self.graph.output(other, f"{name}_numbers")
            return one
        if way == 2:
            sel = self.beside(f"{name}_sel", sg.Selector(2), at)
            order = self.pick("index", "arrival")
            parts = self.branches(sg.partition(at, sel, rank=0))
            return sg.reassemble(parts, sel, rank=0, order=order).flatten(0, 1)
        if way == 3:
            return at.reshape(chunk=self.number(1, 3), pad=0)[0].flatten(0, 1)
        if way == 4:
            return at.promote(0).expand(count=self.number(1, 3)).flatten(0, 1)
        if way == 5:
            ref = self.beside(f"{name}_times", self.pick(sg.Selector(2), sg.int8[2, 4]), at, 3)
            return at.promote(0).expand(ref).flatten(0, 1)
        return at

    def step_tiles(self, x: Stream, name: str) -> Stream:
        """As many tiles for each number, or for each branch in the order in which they arrive."""
        count, rows, columns = self.number(1, 5), self.number(1, 3), self.columns()
        bits, rank = self.number(1, 3), self.number(0, 1)
        element = self.pick(*SUMMED)
        tensor = self.graph.tensor(name, (rows * count * bits, columns), element)
        way = self.pick("numbers", "selectors", "arrivals")
        if way == "numbers":
            e = self.moved(self.looked_up(x, name, bits), name)
            self.graph.output(x, f"{name}_x")
        elif way == "selectors":
            hot = self.number(1, bits)
            e = self.beside(f"{name}_sel", sg.Selector(bits, hot=hot), x)
            self.graph.output(x, f"{name}_x")
        else:
            sel = self.beside(f"{name}_sel", sg.Selector(bits), x)
            merged, e = sg.eager_merge(self.branches(sg.partition(x, sel, rank=0)), rank=0)
            self.graph.output(merged, f"{name}_x")
        at = e.flat_map(sg.fn.tile_addresses(count), rank=rank)
        return sg.random_offchip_load(at, tensor, tile=(rows, columns))

    def step_count(self, x: Stream, name: str) -> Stream:
        """Elements counted: as numbers, or as the address of a tile for each number."""
        rank, fn = self.number(1, max(1, x.rank)), sg.fn.count()
        init = self.pick(None, self.number(0, 3))
        at: Stream = self.pick(x.accum, x.scan)(fn, rank=rank, init=init)
        self.graph.output(x, f"{name}_x")
        most = product_bound(x.shape[len(x.shape) - rank :])
        if self.number(0, 1) and most is not None and most < 40:
            columns = self.columns()
            tensor = self.graph.tensor(name, (most + 4, columns), sg.int8)
            return sg.random_offchip_load(at, tensor, tile=(1, columns))
        if self.number(0, 2) == 0:
            self.graph.output(at, f"{name}_numbers")
        return at.map(sg.fn.convert(self.pick(*NUMBERS)))

    def step_calculated(self, x: Stream, name: str) -> Stream:
        """Tiles read at addresses that are computed, or elements that a comparison routes."""
        most = self.number(1, 9)
        at, other = (self.addresses(f"{name}_{n}", x, most) for n in ("at", "other"))
        way = self.number(0, 5)
        if way == 0:
            at, most = at.map(sg.fn.offset(self.number(0, 5))), most + 5
        elif way == 1:
            most *= (times := self.number(1, 6))
            at = at.map(sg.fn.scale(times))
        elif way == 2:
            limit = self.number(0, most)
            fn = self.pick(sg.fn.at_least(limit), sg.fn.at_most(limit))
            at, most = at.map(fn), most + 1
        if self.number(0, 3) == 0:
            at = at.map(sg.fn.at_least(lowered := self.number(0, 3))).map(sg.fn.offset(-lowered))
            most += 3
        fn = self.pick(sg.fn.add, sg.fn.maximum, sg.fn.minimum)()
        both = at.map(fn, other)
        if self.number(0, 1):
            columns = self.columns()
            tensor = self.graph.tensor(name, (most + 9, columns), sg.int8)
            self.graph.output(x, f"{name}_x")
            return sg.random_offchip_load(both, tensor, tile=(1, columns))
        op, number = self.pick("lt", "le", "eq", "ne", "ge", "gt"), self.number(0, most)
        flags = both.map(
            *((sg.fn.compare(op, number),) if self.number(0, 1) else (sg.fn.compare(op), at))
        )
        route = flags.map(sg.fn.as_selector(otherwise=True))
        parts = self.branches(sg.partition(x, route, rank=0))
        return sg.reassemble(parts, route, rank=0, order=self.pick("index", "arrival"))

    def step_located(self, x: Stream, name: str) -> Stream:
        """Where the largest or smallest element of a row is, or of the rows of a chunk."""
        tile, fn = tile_of(x), self.pick(sg.fn.argmax, sg.fn.argmin)
        if tile.rows != 1 or self.number(0, 3) == 0:
            return x.map(fn(sg.int32))
        if x.rank and self.number(0, 1):
            rank = self.number(1, x.rank)
            if self.number(0, 1):
                return x.accum(fn(sg.int32), rank=rank)
            return x.accum(fn(), rank=rank).map(sg.fn.convert(self.pick(*NUMBERS)))
        way = fn(sg.int32) if (converts := self.number(0, 1)) else fn()
        at = x.map(way).map(sg.fn.convert(sg.address)) if converts else x.map(way)
        if self.number(0, 1):
            chosen = at.map(sg.fn.as_selector(consumers=columns_of(x)))
            return chosen.map(sg.fn.as_flags()).map(sg.fn.convert(self.pick(*NUMBERS)))
        tensor = self.graph.tensor(name, (columns_of(x), self.columns()), sg.int8)
        return sg.random_offchip_load(at, tensor, tile=(1, tensor.shape[1]))

    def step_rows(self, x: Stream, name: str) -> Stream:
        """Rows of addresses, computed together."""
        columns = self.number(1, 5)
        named = range(self.pick(3, 300, 1 << 20))
        self.ranges[f"{name}_one"] = self.ranges[f"{name}_other"] = named
        one = self.beside(f"{name}_one", sg.address[1, self.pick(1, columns)], x)
        other = self.beside(f"{name}_other", sg.address[1, columns], x)
        self.graph.output(x, f"{name}_x")
        first, second = self.pick((one, other), (other, one))
        fn = self.pick(sg.fn.add, sg.fn.maximum, sg.fn.minimum)()
        made = first.map(sg.fn.scale(self.number(0, 5))).map(fn, second)
        numbered: Stream = made.map(sg.fn.convert(self.pick(*NUMBERS)))
        return numbered

    def step_told(self, x: Stream, name: str) -> Stream:
        """Rows of addresses, or flags, as tiles of numbers."""
        self.ranges[name] = range(self.pick(3, 300, 1 << 31))
        self.graph.output(x, f"{name}_x")
        dtype = self.pick(sg.address[1, self.number(1, 9)], sg.bool_[1, 1])
        numbers = self.beside(name, dtype, x)
        return numbers.map(sg.fn.convert(self.pick(*NUMBERS)))

    def step_kept(self, x: Stream, name: str) -> Stream:
        """Rows of addresses, an input or from memory, stored one after the other or by address."""
        columns, size = self.number(1, 3), self.number(1, 9)
        dtype = sg.address[1, columns]
        self.ranges[name] = range(1 << 31)
        rows = self.beside(name, dtype, x)
        if self.number(0, 1):
            table = self.graph.tensor(f"{name}_table", (size, columns), sg.address)
            self.inputs[table.name] = self.rng.integers(0, 1 << 31, (size, columns))
            self.graph.output(rows, f"{name}_rows")
            places = self.addresses(f"{name}_places", x, size)
            rows = sg.random_offchip_load(places, table, tile=(1, columns))
        self.graph.output(x, f"{name}_x")
        one, other = rows.fork(2)
        if self.number(0, 1) and (most := product_bound(x.shape)) is not None:
            kept = self.graph.tensor(f"{name}_kept", (most, columns), sg.address)
            sg.linear_offchip_store(one, kept, name=f"{name}_keep")
        else:
            kept = self.graph.tensor(f"{name}_kept", (33, columns), sg.address)
            at = self.addresses(f"{name}_at", x, 33)
            self.graph.output(
                sg.random_offchip_store(at, one, kept, tile=(1, columns)), f"{name}_done"
            )
        return other.map(sg.fn.convert(self.pick(*NUMBERS)))

    def step_span(self, x: Stream, name: str) -> Stream:
        """Tiles of ranges of addresses; the first or the last of each may go another way."""
        which = self.pick(None, sg.fn.span_first, sg.fn.span_last)
        positive = which is not None or self.number(0, 1) == 1
        most, least = self.number(1, 6), int(positive)
        self.ranges[name] = range(least, most + 1)
        ranges = self.drawn_ranges(x, name)
        bound = self.pick(None, most)
        rows, columns, element = self.number(1, 2), self.columns(), self.pick(*SUMMED)
        tensor = self.graph.tensor(f"{name}_table", (rows * 2 * most, columns), element)
        at = ranges.flat_map(sg.fn.span(bound, positive and self.number(0, 1) == 1), rank=1)
        self.graph.output(x, f"{name}_x")
        tiles = sg.random_offchip_load(at, tensor, tile=(rows, columns))
        if which is None:
            return tiles
        one = ranges.flat_map(which(self.pick(None, bound)), rank=1)
        if self.number(0, 1):
            self.graph.output(ranges.map(sg.fn.span_end()), f"{name}_ends")
        if self.number(0, 3) == 0:
            self.graph.output(one, f"{name}_one")
        parts = self.branches(sg.partition(tiles, one, rank=0))
        order = self.pick("index", "arrival")
        return sg.reassemble(parts, one, rank=0, order=order).flatten(0, 1)

    def drawn_ranges(self, x: Stream, name: str) -> Stream:
        """Ranges that are an input, or made of starts and lengths."""
        if self.number(0, 1):
            return self.beside(name, sg.address[1, 2], x)
        self.ranges[f"{name}_start"] = self.ranges[name]
        start, length = (self.beside(n, sg.address[1, 1], x) for n in (f"{name}_start", name))
        return start.map(sg.fn.as_range(), length)

    def step_placed(self, x: Stream, name: str) -> Stream:
        """A row of each tile, or some, replaced by others."""
        tile = tile_of(x)
        if not tile.rows.static:
            raise sg.StepError("a row is placed in a tile of known rows")
        count = self.pick(1, self.number(1, tile.rows.static))
        rows = self.beside(f"{name}_row", sg.Tile(count, tile.cols, tile.element), x)
        at = self.addresses(f"{name}_at", x, tile.rows.static - count + 1)
        one = count == 1 and self.number(0, 1)
        return x.map(sg.fn.place_row() if one else sg.fn.place_rows(), rows, at)

    def step_masked(self, x: Stream, name: str) -> Stream:
        """Columns or rows masked from a number on, or by positions."""
        most, value = columns_of(x) + self.number(0, 9), self.number(-9, 9)
        one = self.addresses(f"{name}_at", x, most + 1)
        if self.number(0, 1):
            return x.map(self.pick(sg.fn.mask_cols, sg.fn.mask_rows)(value), one)
        window = self.pick(None, self.number(1, most))
        other = self.addresses(f"{name}_first", x, most + 1)
        fn = self.pick(sg.fn.mask_causal, sg.fn.mask_cols, sg.fn.mask_rows)
        return x.map(fn(value, window, self.pick(None, most)), one, other)
