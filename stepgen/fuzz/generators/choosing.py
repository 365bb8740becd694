"""Draws selectors and flags, from inputs or made of data, and what they route or drop."""

from __future__ import annotations

import stepgen as sg
from stepgen.fuzz.generators.addressed import Addressed
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.ir.dims import product_bound
from stepgen.ir.dtypes import NUMBERS
from stepgen.ir.stream import Stream

MOST_CHOSEN = 6
"""Consumers that data choose from, at most."""
MOST_STORED = 64
"""Flags of a stream that is written to memory, at most."""


class Choosing(Addressed):
    """A drawn program in which selectors and flags decide where elements go."""

    def step_choices(self, x: Stream, name: str) -> Stream:
        """Selectors become one for each bit: data per choice are routed, or repeated."""
        bits = self.number(1, 4)
        hot = self.pick(None, self.number(1, bits))
        ones = self.beside(name, sg.Selector(bits, hot=hot), x).flat_map(sg.fn.one_hot(), rank=1)
        if self.number(0, 3) == 0:
            self.graph.output(ones, f"{name}_ones")
        if hot is None:
            return x.promote(0).expand(ones)
        each = self.beside(f"{name}_each", x.dtype, x, hot)
        self.graph.output(x, f"{name}_x")
        return sg.reassemble(
            self.branches(sg.partition(each, ones, rank=0)), ones, rank=0, order="index"
        )

    def step_repeated_choice(self, x: Stream, name: str) -> Stream:
        """Elements that are routed by selectors, each of which is repeated."""
        sel, n = self.beside(f"{name}_sel", sg.Selector(self.number(1, 3)), x), self.number(1, 3)
        if self.number(0, 1):
            each = self.beside(name, x.dtype, x, n)
            self.graph.output(x, f"{name}_x")
            sel = sel.promote(0).expand(count=n)
        else:
            each = x.promote(0)
            sel = sel.promote(0).expand(each, rank=1)
        parts = self.branches(sg.partition(each, sel, rank=0))
        return sg.reassemble(parts, sel, rank=0, order=self.pick("index", "arrival"))

    def step_top_k(self, x: Stream, name: str) -> Stream:
        """Elements to consumers that data choose, many of them equal; with the scores of these."""
        tile, count = tile_of(x), self.number(1, MOST_CHOSEN)
        if self.number(0, 1) and tile.rows == 1 and columns_of(x) <= MOST_CHOSEN:
            count, scores = columns_of(x), x
        else:
            self.ranges[name] = range(-1, 2)
            element = self.pick(*NUMBERS)
            scores = self.beside(name, sg.Tile(1, count, element), x)
        k = self.number(1, count)
        chosen = scores.map(sg.fn.top_k(k))
        if self.number(0, 1):
            best = scores.map(sg.fn.top_k_scores(k))
            if self.number(0, 1):
                ones = chosen.flat_map(sg.fn.one_hot(), rank=1)
                each = best.flat_map(sg.fn.retile_streamify("col"), rank=1)
                best = sg.reassemble(sg.partition(each, ones, rank=0), ones, rank=0, order="index")
            self.graph.output(best, f"{name}_scores")
        if self.number(0, 1):
            return x.promote(0).expand(chosen.flat_map(sg.fn.one_hot(), rank=1))
        parts = self.branches(sg.partition(x, chosen, rank=0))
        return sg.reassemble(parts, chosen, rank=0, order=self.pick("index", "arrival"))

    def step_flags_of_data(self, x: Stream, name: str) -> Stream:
        """Flags that data make: they drop rows, become numbers, are joined and cut again."""
        tile = tile_of(x)
        if tile.rows != 1:
            raise sg.StepError("a flag for each tile drops tiles of one row")
        other = self.beside(name, sg.Tile(1, 1, tile.element), x)
        flags = x.map(sg.fn.row_max()).map(sg.fn.compare(self.pick("lt", "ge")), other)
        if self.number(0, 1):
            return x.flat_map(
                sg.fn.retile_streamify("row"), rank=self.number(0, 1), padding=flags.promote(0)
            )
        if self.number(0, 1):
            return flags.map(sg.fn.convert(self.pick(*NUMBERS)))
        axis, join = self.pick(("row", sg.fn.retile_row()), ("col", sg.fn.retile_col()))
        joined = flags.promote(0).expand(count=self.number(1, 3)).accum(join, rank=1)
        cut = joined.flat_map(sg.fn.retile_streamify(axis), rank=self.number(0, 1))
        self.graph.output(cut, f"{name}_cut")
        return joined.map(sg.fn.convert(sg.int8))

    def step_selectors_of_flags(self, x: Stream, name: str) -> Stream:
        """Elements go where comparisons, or flags of an input, say; selectors are flags again."""
        tile = tile_of(x)
        if tile.rows == 1 and columns_of(x) <= MOST_CHOSEN:
            flags = x.map(sg.fn.compare(self.pick("lt", "ge")), self.beside(name, tile, x))
        else:
            count = self.number(1, MOST_CHOSEN)
            flags = self.beside(name, sg.Tile(1, count, sg.bool_), x)
        chosen = flags.map(sg.fn.as_selector(otherwise=bool(self.number(0, 1))))
        if self.number(0, 1):
            back = chosen.map(sg.fn.as_flags())
            if self.number(0, 1):
                back = back.map(sg.fn.convert(self.pick(*NUMBERS)))
            self.graph.output(back, f"{name}_flags")
        if self.number(0, 1):
            return x.promote(0).expand(chosen.flat_map(sg.fn.one_hot(), rank=1))
        parts = self.branches(sg.partition(x, chosen, rank=0))
        return sg.reassemble(parts, chosen, rank=0, order=self.pick("index", "arrival"))

    def step_where(self, x: Stream, name: str) -> Stream:
        """Elements, rows or tiles that flags choose, of inputs or made of data, or numbers."""
        tile = tile_of(x)
        shapes = [
            sg.Tile(self.pick(tile.rows, 1), self.pick(tile.cols, 1), tile.element) for _ in "ab"
        ]
        flags = self.beside(f"{name}_flags", sg.Tile(*shapes[0].dims, sg.bool_), x)
        if self.number(0, 1):
            other = self.beside(f"{name}_compared", shapes[0], x)
            compared = self.beside(f"{name}_with", shapes[0], x).map(sg.fn.compare("lt"), other)
            way = self.pick(sg.fn.logical_and, sg.fn.logical_or, sg.fn.logical_xor)
            flags = flags.map(way(), compared)
        if self.number(0, 1):
            flags = flags.map(sg.fn.logical_not())
        number = self.number(-9, 9)
        if self.number(0, 3) == 0:
            fn = sg.fn.where(number, -number, self.pick(*NUMBERS))
            self.graph.output(flags.map(fn), f"{name}_numbers")
        if self.number(0, 2) == 0:
            return flags.map(self.pick(sg.fn.where(then=number), sg.fn.where(otherwise=number)), x)
        given = [x, self.beside(f"{name}_other", shapes[1], x)]
        return flags.map(sg.fn.where(), *(given if self.number(0, 1) else given[::-1]))

    def step_logic(self, x: Stream, name: str) -> Stream:
        """Elements go where selectors say together, or are dropped by flags that are combined."""
        tile = tile_of(x)
        fn = self.pick(sg.fn.logical_and, sg.fn.logical_or, sg.fn.logical_xor)()
        if tile.rows == 1 and self.number(0, 1):
            one, other = (self.beside(f"{name}_{n}", sg.bool_[1, 1], x) for n in range(2))
            flags = one.map(fn, other)
            third = self.beside(f"{name}_third", sg.bool_[1, 1], x)
            flags = (
                flags.map(
                    self.pick(fn, sg.fn.where(), sg.fn.logical_not()),
                    *([third] if self.number(0, 1) else [third, other]),
                )
                if self.number(0, 1)
                else flags
            )
            return x.flat_map(
                sg.fn.retile_streamify("row"), rank=self.number(0, 1), padding=flags.promote(0)
            )
        consumers = self.number(1, MOST_CHOSEN)
        hot = self.pick(None, self.number(1, consumers))
        one = self.beside(f"{name}_one", sg.Selector(consumers, hot=hot), x)
        if self.number(0, 1):
            scores = self.beside(f"{name}_scores", sg.f32[1, consumers], x)
            other = scores.map(sg.fn.top_k(self.number(1, consumers)))
        else:
            other = self.beside(f"{name}_other", sg.Selector(consumers), x)
        chosen = one.map(fn, other) if self.number(0, 2) else one.map(sg.fn.logical_not())
        if self.number(0, 2) == 0:
            self.graph.output(other, f"{name}_unused")
        parts = self.branches(sg.partition(x, chosen, rank=0))
        return sg.reassemble(parts, chosen, rank=0, order=self.pick("index", "arrival"))

    def step_flags_in_memory(self, x: Stream, name: str) -> Stream:
        """Flags that data make are written, in order or by address; others are read, and drop."""
        tile, room = tile_of(x), product_bound(x.shape)
        if tile.rows != 1 or room is None or room > MOST_STORED:
            raise sg.StepError("a flag for each tile of one row is stored, of not too many")
        other = self.beside(name, sg.Tile(1, 1, tile.element), x)
        flags = x.map(sg.fn.row_max()).map(sg.fn.compare(self.pick("lt", "ge")), other)
        written = self.graph.tensor(f"{name}_written", (room + 1, 1), sg.bool_)
        if self.number(0, 1):
            sg.linear_offchip_store(flags, written)
        else:
            at = self.addresses(f"{name}_at", x, room + 1)
            done = sg.random_offchip_store(at, flags, written, tile=(1, 1), name=f"{name}_write")
            self.graph.output(done, f"{name}_done")
        kept = self.graph.tensor(f"{name}_kept", (3, 1), sg.bool_)
        if self.number(0, 1):
            at = self.addresses(f"{name}_from", x, 3)
            read = at.random_offchip_load(kept, tile=(1, 1)).promote(0)
        else:
            read = sg.linear_offchip_load(kept, tile=(1, 1), shape=(1,), stride=(1,), ref=x)
        return x.flat_map(sg.fn.retile_streamify("row"), rank=self.number(0, 1), padding=read)
