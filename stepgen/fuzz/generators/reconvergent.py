"""Draws programs with many dependences between channels, and inputs at their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

import stepgen as sg
from stepgen.fuzz.generators.drawing import columns_of, tile_of
from stepgen.fuzz.generators.plain import PlainProgram, draw, steps_of
from stepgen.hw.design.table import Bus
from stepgen.ir.dims import Dim
from stepgen.ir.stream import Stream

WIDTHS = (1, 2, 4, 8, 16)
PATTERNS = ("any", "all", "none", "first", "last", "ends", "one")


class Bounded(PlainProgram):
    """A drawn program with routes, weights from off-chip memory, and streams that meet again."""

    bus = Bus(data_bits=32, burst=4)
    chunk_rank = 1
    unbounded = False

    def __init__(
        self, seed: int, steps: Sequence[tuple[str, int]], lanes: int | None = None
    ) -> None:
        self.lanes = WIDTHS[seed % len(WIDTHS)] if lanes is None else lanes
        self.pattern = "any"
        self.drawn = 0
        super().__init__(seed, steps)

    def first(self) -> Stream:
        """The first stream: rows, in some programs square tiles, which can be multiplied."""
        dims = [self.dim(ragged=n > 0) for n in range(self.number(0, 2) + 1)]
        square = self.lanes * self.pick(1, 2)
        rows, columns = self.pick((1, self.columns()), (1, self.columns()), (square, square))
        return self.input("x", sg.Tile(rows, columns, sg.int8), dims)

    def columns(self) -> int:
        """Columns of a tile, of up to eight beats."""
        return self.width(self.pick(1, 2, 3, 8))

    def redraw(self, seed: int) -> None:
        """Draw other contents of the inputs, with all extents at their bounds half of the time."""
        self.rng = np.random.default_rng(seed)
        full = self.number(0, 1)
        for name in self.extents:
            least = int(name in self.positive)
            self.extents[name] = (
                self.bound
                if full
                else min(self.bound, max(least, self.pick(0, 1, 2, 3, self.bound)))
            )
        for name, stream in self.graph.inputs.items():
            self.inputs[name] = self.contents(stream)

    def contents(self, stream: Stream) -> Any:
        """Drawn contents of an input; selectors follow a pattern."""
        self.pattern, self.drawn = self.pick(*PATTERNS), 0
        return super().contents(stream)

    def extent(self, dim: Dim) -> int:
        """The extent of one occurrence of a dim."""
        drawn = super().extent(dim)
        return self.bound if dim.is_ragged and self.number(0, 1) else drawn

    def value(self, dtype: Any) -> Any:
        """An element of an input."""
        if not isinstance(dtype, sg.Selector) or dtype.hot is not None:
            return super().value(dtype)
        n, at = dtype.n, self.drawn
        self.drawn += 1
        hot = {
            "all": range(n),
            "none": (),
            "first": (0,),
            "last": (n - 1,),
            "ends": (0,) if at % self.bound in (0, self.bound - 1) else (n - 1,),
            "one": (at % n,),
        }.get(self.pattern)
        if hot is None:
            return self.rng.random(n) < 0.5
        return np.isin(np.arange(n), list(hot))

    def matrix(self, ref: Stream, columns: int, times: int = 1) -> Stream:
        """Matrices from off-chip memory, `times` for each element of a reference."""
        rows = columns_of(ref)
        name = f"m{len(self.graph.tensors)}"
        tensor = self.graph.tensor(name, (rows, columns * times), sg.int8)
        return sg.linear_offchip_load(
            tensor, tile=(rows, columns), shape=(times,), stride=(1,), ref=ref
        )

    def product(self, x: Stream, w: Stream) -> Stream:
        """Each tile times a matrix; int8 again."""
        return x.map(sg.fn.matmul(), w).map(sg.fn.requantize(shift=2))

    def times(self, x: Stream) -> Stream:
        """Each tile times matrices whose loads it triggers itself."""
        times = self.pick(1, 1, 2)
        loaded, x = self.matrix(x, self.columns(), times), x.promote(0)
        if times > 1:
            x = x.expand(count=times)
        if self.number(0, 1):
            x, loaded = x.flatten(0, 1), loaded.flatten(0, 1)
        return self.product(x, loaded)

    def packed(self, x: Stream) -> Stream:
        """All rows of each group packed as one tile, processed, and cut into rows again."""
        return self.cut(self.worked(self.whole(x)))

    def whole(self, x: Stream) -> Stream:
        """All rows of each group as one tile; a stream without groups is one."""
        return (x if x.rank else x.promote()).accum(sg.fn.retile_row(), rank=1)

    def cut(self, x: Stream) -> Stream:
        """Tiles as rows."""
        return x.flat_map(sg.fn.retile_streamify("row"), rank=0)

    def padded(self, x: Stream) -> Stream:
        """Rows in tiles of a static number of rows, processed, and the padding removed."""
        data, padding = x.reshape(chunk=self.number(1, 4), pad=1)
        tile = data.accum(sg.fn.retile_row(), rank=1)
        done = self.worked(tile)
        return done.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)

    def worked(self, x: Stream) -> Stream:
        """A step that keeps the number of rows: the identity, or a product with a matrix."""
        if tile_of(x).element is not sg.int8 or self.number(0, 2) == 0:
            return x
        rows = columns_of(x)
        if self.number(0, 1):
            return self.product(x, self.matrix(x, rows).flatten(0, 1))
        wide = x.promote(0).expand(count=2)
        return self.product(wide, self.matrix(x, rows, 2)).accum(sg.fn.retile_col(), rank=1)

    def inside(self, x: Stream) -> Stream:
        """The steps in one branch of a route."""
        how = self.pick(self.same, self.packed, self.padded, self.times, self.double)
        return cast(Stream, how(x))

    def same(self, x: Stream) -> Stream:
        return x

    def double(self, x: Stream) -> Stream:
        return self.packed(self.padded(x)) if self.number(0, 1) else self.padded(self.packed(x))

    def branches(self, parts: Sequence[Stream]) -> Sequence[Stream]:
        """Each branch does something of its own, or all do nothing."""
        if not self.number(0, 2):
            return parts
        state = int(self.rng.integers(1 << 30))
        worked = []
        for n, part in enumerate(parts):
            self.rng = np.random.default_rng(state + (n if self.number(0, 1) else 0))
            worked.append(self.inside(part))
        if len({str(y.dtype) for y in worked}) == 1:
            return worked
        return [self.cut(self.whole(part)) for part in parts]

    def step_times(self, x: Stream, _: str) -> Stream:
        return self.times(x)

    def step_work(self, x: Stream, _: str) -> Stream:
        return self.worked(x)

    def step_padded(self, x: Stream, _: str) -> Stream:
        return self.padded(x)

    def step_packed(self, x: Stream, _: str) -> Stream:
        return self.packed(x)

    def step_late(self, x: Stream, _: str) -> Stream:
        """The tile of a whole group, once for each of its elements."""
        whole = x.accum(sg.fn.retile_row(), rank=1)
        return whole.promote(0).expand(x)

    def step_late_weights(self, x: Stream, _: str) -> Stream:
        """Each tile of a group times a matrix whose load the group's end triggers."""
        rows = columns_of(x)
        whole = x.accum(sg.fn.retile_row(), rank=1)
        return self.product(x, self.matrix(whole, rows).expand(x))

    def step_chain(self, x: Stream, _: str) -> Stream:
        """A matrix whose load another loaded matrix triggers."""
        rows = columns_of(x)
        first = self.matrix(x, rows).flatten(0, 1)
        return self.product(x, self.matrix(first, rows).flatten(0, 1))

    def step_crossed(self, x: Stream, name: str) -> Stream:
        """Two streams times each other, both ways."""
        size = columns_of(x)
        if tile_of(x).rows.static != size:
            raise sg.StepError("only square tiles can be crossed")
        z = self.beside(name, sg.Tile(size, size, sg.int8), x)
        one, other = x.map(sg.fn.matmul(), z), z.map(sg.fn.matmul(), x)
        self.graph.output(other, f"{name}_other")
        return one.map(sg.fn.requantize(shift=2))


MEETING = (
    *("route", "merge", "times", "work", "padded", "packed"),
    *("late", "late_weights", "chain", "crossed"),
)
"""Steps in which streams fork and join, which are drawn more often."""


def drawn(seed: int, size: int = 3) -> Bounded:
    """A program of up to `size` steps that can be built."""
    names = (*steps_of(Bounded), *MEETING, *MEETING)
    program: Bounded = draw(seed, size, Bounded, names=names)[0]
    return program
