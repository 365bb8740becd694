"""Draws programs whose streams have no common source and meet several times, caches among them."""

from __future__ import annotations

from collections.abc import Sequence

import stepgen as sg
from stepgen.fuzz.generators.drawing import columns_of
from stepgen.fuzz.generators.plain import draw
from stepgen.fuzz.generators.reconvergent import Bounded
from stepgen.ir.stream import Stream


class Meeting(Bounded):
    """A drawn program of several inputs of the same shape, each of which may meet all others."""

    def __init__(
        self, seed: int, steps: Sequence[tuple[str, int]], lanes: int | None = None
    ) -> None:
        self.pool: list[Stream] = []
        super().__init__(seed, steps, lanes)
        for stream in self.pool:
            if not self.graph.consumers(stream):
                self.graph.output(stream, f"last_{stream.node.name}_{stream.port}")

    def first(self) -> Stream:
        """One of two to four inputs."""
        dims = [self.dim(ragged=False) for _ in range(self.number(1, 2))]
        tile = sg.Tile(self.pick(1, 2, 3), self.columns(), sg.int8)
        self.pool = [self.input(f"x{n}", tile, dims) for n in range(self.number(2, 4))]
        self.dims, self.tile = dims, tile
        self.spans: Stream | None = None
        return self.pool[0]

    def one(self) -> Stream:
        """A stream that was made before."""
        return self.pool[self.number(0, len(self.pool) - 1)]

    def two(self) -> list[Stream]:
        """Two that may have no common source."""
        return [self.pool[n] for n in self.rng.permutation(len(self.pool))[:2]]

    def keep(self, *made: Stream) -> Stream:
        """Add streams to those that later steps use."""
        self.pool += made
        return made[-1]

    def step_twice(self, _: Stream, name: str) -> Stream:
        """Two streams meet in two places."""
        functions = sg.fn.add(), sg.fn.sub(), sg.fn.maximum(), sg.fn.minimum()
        (a, b), (f, g) = self.two(), (self.pick(*functions), self.pick(*functions))
        if self.number(0, 1):
            return self.keep(a.map(f, b), a.map(g, b))
        return self.keep(a.map(f, b), self.slow(b).map(g, a))

    def slow(self, x: Stream) -> Stream:
        """A stream that comes later than what it is made of."""
        how = self.number(0, 3)
        if how == 0:
            return x.map(sg.fn.maximum(), x.map(sg.fn.row_max()))
        if how == 1:
            return x.map(sg.fn.convert(sg.int16)).map(sg.fn.convert(sg.int8))
        if how == 2:
            return x.map(sg.fn.row_max()).map(sg.fn.minimum(), x)
        largest = x.accum(sg.fn.maximum(), rank=1)
        return largest.promote(0).expand(x).map(sg.fn.sub(), x)

    def step_slow(self, _: Stream, name: str) -> Stream:
        """One stream, later."""
        return self.keep(self.slow(self.one()))

    def step_over_groups(self, _: Stream, name: str) -> Stream:
        """The largest of each group meets the elements of another stream."""
        a, b = self.two()
        return self.keep(a.accum(sg.fn.maximum(), rank=1).promote(0).expand(b).map(sg.fn.add(), b))

    def step_stored(self, _: Stream, name: str) -> Stream:
        """Each group is stored until its largest is known."""
        a = self.one()
        largest = a.accum(sg.fn.maximum(), rank=1)
        kept = a.bufferize(rank=1).streamify(largest)
        return self.keep(kept.map(sg.fn.sub(), largest.promote(0).expand(kept)))

    def step_routed(self, _: Stream, name: str) -> Stream:
        """Streams that the same selectors route, and merge again behind something else."""
        sel = self.input(f"{name}_sel", sg.Selector(2, hot=1), self.dims)
        made = []
        for x in self.two() if self.number(0, 1) else [self.one()]:
            parts = [self.meanwhile(part) for part in sg.partition(x, sel, rank=0)]
            order = self.pick("index", "arrival")
            made.append(sg.reassemble(parts, sel, rank=0, order=order).flatten(0, 1))
        return self.keep(*made)

    def meanwhile(self, x: Stream) -> Stream:
        """What a branch does."""
        return x.map(sg.fn.maximum(), x.map(sg.fn.row_max())) if self.number(0, 1) else x

    def step_cache(self, _: Stream, name: str) -> Stream:
        """Tiles of ranges, the last with a row of another stream, meet each element; for one or two
        caches of the same ranges."""
        if self.spans is None:
            self.ranges["span"] = range(1, 4)
            self.spans = self.input("span", sg.address[1, 2], self.dims)
            self.ranges["place"] = range(int(self.tile.rows.static or 1))
            self.places = self.input("place", sg.address[1, 1], self.dims)
        caches = [self.cache(f"{name}_{n}") for n in range(self.number(1, 2))]
        query = self.one()
        scores = query.promote(0).expand(caches[0]).map(sg.fn.add(), caches[0])
        if self.number(0, 1):
            largest = scores.accum(sg.fn.maximum(), rank=1)
            scores = scores.bufferize(rank=1).streamify(largest)
            scores = scores.map(sg.fn.sub(), largest.promote(0).expand(scores))
        if len(caches) > 1:
            scores = scores.map(sg.fn.maximum(), caches[1])
        return self.keep(scores.accum(sg.fn.add(), rank=1))

    def cache(self, name: str) -> Stream:
        """A cache with a new row in the last tile of each range."""
        assert self.spans is not None
        rows, columns, most = int(self.tile.rows.static or 0), columns_of(self.pool[0]), 3
        tensor = self.graph.tensor(name, (rows * 2 * most, columns), sg.int8)
        at = self.spans.flat_map(sg.fn.span(most), rank=1)
        tiles = sg.random_offchip_load(at, tensor, tile=(rows, columns))
        is_last = self.spans.flat_map(sg.fn.span_last(most), rank=1)
        last, others = sg.partition(tiles, is_last, rank=0)
        new = self.one() if rows == 1 else self.input(f"{name}_row", sg.int8[1, columns], self.dims)
        flat = [x.flatten(0, 1) if x.rank else x for x in (new, self.places)]
        placed = last.map(sg.fn.place_row(), *flat)
        return sg.reassemble([placed, others], is_last, rank=0).flatten(0, 1)


def drawn(seed: int, size: int = 4) -> Meeting:
    """A program of up to `size` steps that can be built."""
    program: Meeting = draw(seed, size, Meeting, names=NAMES)[0]
    return program


NAMES = ("twice", "twice", "slow", "over_groups", "stored", "routed", "cache", "cache")
