"""Loaders in front of matrix units, which tell them which tiles they have used up."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import Draw
from harness import row
from off_chip import OffChip
from seeds import some_slow

from stepgen.hw.design.params import numbered
from stepgen.hw.design.table import Bus, Channel
from stepgen.hw.units.axi.params import raw_channel, words
from stepgen.hw.units.fork.params import Fork
from stepgen.hw.units.load.params import Load
from stepgen.hw.units.loader.params import Loader
from stepgen.hw.units.matmul.params import Matmul
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls


class Shared(OffChip):
    """A loader with so many readers, each with a matrix unit."""

    def __init__(self, draw: Draw, bus: Bus, readers: int, *, aside: bool = True, **given):
        one = draw.one
        lanes = one([n for n in (2, 4, 8) if n <= bus.bytes])
        super().__init__(draw, bus, lanes)
        least = bus.bytes // lanes  # beats of a tile are those of whole words
        tile = one([(k, n) for k in (1, 2, 4, 5) for n in (1, 2, 3, 8) if k * n % least == 0])
        self.k, self.slices = given.get("tile", tile)
        self.n = self.slices * lanes
        shape, stride = one([((), ()), ((1, 3), (3, 1)), ((2, 2), (1, -2)), ((3, 1), (0, 5))])
        self.shape, self.stride = given.get("pass_", (shape, stride))
        self.buffers, self.ahead = one((1, 2)), one((2, 8))
        self.outer, self.level = one((0, 1)), one((0, 2))
        self.aside = aside
        params = self._loader(readers)
        raised = 2 + len(self.shape) - self.level
        for n in range(readers):
            self._reader(n, params.loads[n], raised)
        req, data = (c.name for c in Load.channels("w", self.bus, 2))
        self.channels += Load.channels("w", self.bus, self.depth())
        inputs = (*numbered("ref", readers), data, *numbered("free", readers))
        self.units.append(row("w", params, inputs, (*numbered("w", readers), req)))
        self.loads.append((req, data))

    def _loader(self, readers: int) -> Loader:
        size = self.k * self.n
        spans = [(e - 1) * s for e, s in zip(self.shape, self.stride, strict=True)]
        low, high = (sum(most(0, span) for span in spans) for most in (min, max))
        bases = []
        for n in range(readers):
            bases.append(self.place((high - low + 1) * size))
            self._tensor(f"w_{n}", bases[n], (high - low + 1) * size)
        return Loader(
            regions=numbered("w", readers),
            bases=tuple(bases),
            offsets=readers * (-low,),
            tile_bytes=size,
            rows=self.k,
            beat_parts=self.lanes,
            shape=self.shape,
            stride=self.stride,
            ref_level=self.level,
            buffers=self.buffers,
            ahead=self.ahead,
            whole=self.draw.one((True, False)),
        )

    def _reader(self, n: int, load: Load, raised: int) -> None:
        """The reference, the matrix unit, and the sink of a reader."""
        draw, lanes = self.draw, self.lanes
        dims = [(0, 1, 2, 3), (0, 1, 2, 2)][: self.outer + 1]
        leaf = draw.beat if self.level == 0 else lambda: draw.tile(draw.one((0, 1, 3)), 2)
        ref = draw.nested(dims, leaf)
        rank = self.level + self.outer
        self.source(
            f"ref_{n}", Channel(f"ref_{n}", draw.one((0, 2)), 8, rank, draw.one((2, 9))), ref
        )

        def weights(number: int):
            place = self.windows.place(load.base + number * load.tile_bytes, load.tile_bytes)
            stored = np.frombuffer(self.before, np.int8)[place : place + load.tile_bytes]
            return stored.reshape(self.k, self.n)

        def each(items, depth: int):
            return [each(i, depth - 1) for i in items] if depth else read(load.offset, 0)

        def read(first: int, at: int):
            if at == len(self.shape):
                return factor(), weights(first)
            steps = range(self.shape[at])
            return [read(first + step * self.stride[at], at + 1) for step in steps]

        def factor():
            rows = draw.one((0, 1, 2))
            return draw.rng.integers(-128, 128, (rows, self.k)).astype(np.int8)

        pairs, depth = each(ref, self.outer + 1), self.outer + 1 + len(self.shape)

        def beats(items, depth: int, made):
            if depth:
                return [beats(i, depth - 1, made) for i in items]
            matrix = made(*items)
            wide = np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % lanes)))
            return [[*line.reshape(-1, lanes)] for line in wide]

        wide = rank + raised
        params = Matmul(self.k, self.n, "int8", False, buffers=self.buffers, credits=True)
        x = Channel(f"x_{n}", lanes, 8, wide, draw.one((2, 3, 9)), tail=self.k % lanes)
        self.source(x.name, x, beats(pairs, depth, lambda x, w: x))
        y = Channel(f"y_{n}", lanes, 32, wide, draw.one((2, 9, 40)), params.delay(lanes))
        w = Channel(f"w_{n}", lanes, 8, wide, draw.one((2, 3, 4, 70)))
        free = raw_channel(f"free_{n}", words(1))
        self.channels += [y, w, free]
        taken = w.name
        if self.aside and draw.one((True, False)):  # its beats are seen, too
            ways = [replace(w, name=f"{w.name}_{k}", depth=2) for k in range(2)]
            names = tuple(way.name for way in ways)
            self.channels += ways
            self.units.append(row(f"fork_{n}", Fork(2), (w.name,), names))
            taken, seen = names
            self.closes[seen] = load.pass_level
            self.sink(seen, beats(pairs, depth, lambda x, w: w))
        self.units.append(row(f"m_{n}", params, (x.name, taken), (y.name, free.name)))
        product = beats(pairs, depth, lambda x, w: x.astype(np.int32) @ w)
        self.sink(y.name, product, np.int32)


def drawn_bus(draw: Draw) -> Bus:
    return Bus(draw.one((32, 64, 128)), 32, draw.one((1, 2, 4, 16)), draw.one((1, 2, 8)))


# With seed 5 a second run shows where the turns begin.
@pytest.mark.parametrize("seed", some_slow((5, 0, 1, *range(6, 20), 2, 3, 4), 3))
def test_tiles_for_several(seed):
    draw = Draw(seed)
    made = Shared(draw, drawn_bus(draw), draw.one((2, 3, 4)))
    made.verify(made.timing(), made.stalls(), aborts=draw.one((0, 1)))


def test_a_consumer_that_stands_still_stops_no_other():
    """The second one gets all its tiles, though the first one takes no row for long."""
    draw = Draw(16)
    made = Shared(draw, Bus(32, 32, 4, 2), 2, aside=False)
    predicted = made.verify(MemoryTiming(), Stalls(1, {"s_x_0": 0.99}), runs=1)
    assert predicted.pops["w_1"][-1] < predicted.pops["w_0"][-1]
