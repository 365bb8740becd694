"""What drawn programs share: their inputs, dims and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.hw.design.table import Bus
from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import FLOATS, INTEGERS, NUMBERS
from stepgen.ir.lanes import OTHERS, Lanes
from stepgen.ir.stream import Stream
from stepgen.semantics import numbers

NARROW = 2
"""Lanes of these programs: few, so that rows have several beats."""
BOUND = 5
"""No dynamic or ragged dim is longer, unless a program says so."""


def some_lanes(graph: sg.Graph, lanes: int, rng: np.random.Generator) -> Lanes:
    """Lanes of which some operators that compute have others, up to twice as many."""
    computing = [node.name for node in graph.nodes if node.face.computes]
    chosen = [name for name in computing if rng.random() < 0.4]
    few = [n for n in (1, 2, 4, 8, 16) if n <= 2 * lanes]
    return {OTHERS: lanes, **{name: int(rng.choice(few)) for name in chosen}}


def tile_of(x: Stream) -> sg.Tile:
    """The tile type of a stream; steps for tiles refuse others."""
    if not isinstance(x.dtype, sg.Tile):
        raise sg.StepError(f"{x.name} is a stream of {x.dtype}")
    return x.dtype


def columns_of(x: Stream) -> int:
    """Columns of the tiles of a stream, where they are static."""
    columns = tile_of(x).cols.static
    if columns is None:
        raise sg.StepError(f"the columns of {x.name} are decided at run time")
    return columns


def dims_of(x: Stream) -> Sequence[Dim]:
    """The dims of the tiles of a stream, if it has tiles."""
    return x.dtype.dims if isinstance(x.dtype, sg.Tile) else ()


class Drawing:
    """A program made step by step, each step drawn from a seed of its own.

    Attributes
    ----------
    graph : Graph
    inputs : dict
        Contents of its inputs.
    lanes, bus
        Those of the design that it is for.
    bound : int
        The longest dynamic or ragged extent.
    most : int
        Numbers of an input, at most.
    unbounded : bool
        Whether dims decided at run time may have no bound.
    overflows : bool
        Whether a run may end in the error of a memory that is too small.
    chunk_rank : int
        Rank of the chunks that are routed, at most.
    positive : set of str
        Dims that are at least 1.
    ranges : dict of str to range
        By input, the integers that it may have, where not all are allowed.
    """

    lanes = NARROW
    bus = Bus()
    bound = BOUND
    most = 1 << 20
    unbounded = True
    overflows = False
    chunk_rank = 1 << 20

    def __init__(self, seed: int, steps: Sequence[tuple[str, int]]) -> None:
        self.graph = sg.Graph(f"drawn_{seed}")
        self.inputs: dict[str, Any] = {}
        self.extents: dict[str, int] = {}
        self.positive: set[str] = set()
        self.ranges: dict[str, range] = {}
        self.allowed: range | None = None
        self.rng = np.random.default_rng(seed)
        stream = self.first()
        for number, (name, step_seed) in enumerate(steps):
            self.rng = np.random.default_rng(step_seed)
            stream = getattr(self, f"step_{name}")(stream, f"s{number}")
            if self.number(0, 5) == 0:
                self.graph.output(stream, f"tap{number}")
        self.graph.output(stream, "result")

    def number(self, low: int, high: int) -> int:
        """An integer within ``low..high``."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *choices: Any) -> Any:
        """One of several."""
        return choices[self.number(0, len(choices) - 1)]

    def first(self) -> Stream:
        """The input that the steps begin with."""
        element = self.pick(*INTEGERS, *NUMBERS)
        rank = self.number(0, 2)
        dims = [self.dim(ragged=n > 0) for n in range(rank + 1)]
        rows = self.pick(1, 2, self.dim(ragged=False))
        return self.input("x", sg.Tile(rows, self.columns(), element), dims)

    def columns(self) -> int:
        """Columns of a tile."""
        return self.width(self.number(1, 2))

    def width(self, beats: int) -> int:
        """Columns of rows of so many beats; in one of three cases the last one may be padded."""
        spare = 0 if self.number(0, 2) else self.number(0, self.lanes - 1)
        return self.lanes * beats - spare

    def dim(self, *, ragged: bool) -> int | Dim:
        """A static, dynamic or ragged dim; empty now and then."""
        kind = self.pick("static", "dynamic", "ragged" if ragged else "dynamic")
        if kind == "static":
            return int(self.pick(0, *3 * (1, 2, 3)))
        name = f"D{len(self.extents)}"
        self.extents[name] = min(self.bound, self.pick(0, 1, 2, 3, 4, self.bound))
        make, rare = (sg.dynamic, 2) if kind == "dynamic" else (sg.ragged, 9)
        free = self.unbounded and self.number(0, rare) == 0
        return make(name, bound=None if free else self.bound)

    def some(self, *, ragged: bool) -> Dim:
        """A dynamic or ragged dim of at least 1."""
        name = f"D{len(self.extents)}"
        self.extents[name] = min(self.bound, self.pick(1, 2, 3, 4, self.bound))
        self.positive.add(name)
        make = sg.ragged if ragged else sg.dynamic
        free = self.unbounded and self.number(0, 3) == 0
        return make(name, bound=None if free else self.bound, positive=True)

    def extent(self, dim: Dim) -> int:
        """The extent of one occurrence of a dim."""
        if dim.static is not None:
            return dim.static
        if dim.is_ragged:
            return self.number(not dim.may_be_empty, self.bound)
        if str(dim) not in self.extents:
            raise sg.StepError(f"{dim} is an extent that other streams decide")
        return self.extents[str(dim)]

    def input(self, name: str, dtype: Any, dims: Sequence[int | Dim]) -> Stream:
        """A new input with drawn contents."""
        stream = self.graph.input(name, dtype, dims)
        self.inputs[name] = self.contents(stream)
        return stream

    def contents(self, stream: Stream) -> Any:
        """Drawn contents of an input."""

        left = self.most
        self.allowed = self.ranges.get(stream.node.name)

        def nested(level: int) -> Any:
            nonlocal left
            if level < len(stream.shape):
                return [nested(level + 1) for _ in range(self.extent(stream.shape[level]))]
            value = self.value(stream.dtype)
            left -= value.size
            if left < 0:
                raise sg.StepError("an input that is too large")
            return value

        return nested(0)

    def value(self, dtype: Any) -> Any:
        """An element of an input."""
        if isinstance(dtype, sg.Selector):
            if dtype.hot is None:
                return self.rng.random(dtype.n) < 0.5
            return self.rng.permutation(dtype.n) < dtype.hot
        size = (self.extent(dtype.rows), self.extent(dtype.cols))
        if dtype.element is sg.bool_:
            return self.rng.random(size) < 0.5
        if dtype.element in FLOATS:
            return self.floats(size).astype(numbers.DTYPES[dtype.element.name])
        lowest, highest = dtype.element.limits or (0, 0)
        low, high = max(-40000, lowest), min(40000, highest + 1)
        if self.allowed:
            low, high = self.allowed.start, self.allowed.stop
        if dtype.element is sg.address:
            return self.rng.integers(max(0, low), high, size)
        return self.rng.integers(low, high, size).astype(dtype.element.name)

    def floats(self, size: tuple[int, int]) -> Any:
        """Numbers, half of them around 1, the others of any exponent; in one tile of four specials.

        Zeros, infinities, NaN, the largest and the smallest ones, and numbers that cancel. In one
        tile of eight all are the same, so that sums of products are as large as these allow.
        """
        if self.number(0, 7) == 0:
            return np.full(size, self.pick(1.0, 1.5, 2.0 - 2.0**-7))
        near = self.rng.random(size) < 0.5
        exponent = np.where(
            near, self.rng.integers(-3, 4, size), self.rng.integers(-126, 127, size)
        )
        fraction = self.rng.choice([0.0, 0.25, 0.5, *self.rng.random(3)], size)
        drawn = np.ldexp((1 + fraction) * self.rng.choice([-1, 1], size), exponent)
        if self.number(0, 3):
            return drawn
        largest, smallest = float(np.finfo(np.float32).max), 2.0**-149
        special = self.rng.choice([0.0, 1.5, np.inf, np.nan, largest, smallest, 2.0**-126], size)
        special *= self.rng.choice([-1, 1], size)
        return np.where(self.rng.random(size) < 0.3, special, drawn)

    def beside(self, name: str, dtype: Any, like: Stream, *more: int | Dim) -> Stream:
        """A new input with the shape of `like`, and `more` dims inside."""
        if any(str(d) not in self.extents and d.static is None for d in like.shape):
            raise sg.StepError(f"{name} can't be drawn with a shape that another stream decides")
        if any(d.is_ragged for d in like.shape):
            raise sg.StepError(f"{name} can't be drawn with ragged dims of another stream")
        if isinstance(dtype, sg.Tile) and isinstance(like.dtype, sg.Tile):
            shared = [d for d in dtype.dims if any(d.same(of) for of in like.dtype.dims)]
            if any(d.is_ragged for d in shared):
                raise sg.StepError(f"{name} can't be drawn with tiles whose size varies in another")
        return self.input(name, dtype, [*like.shape, *more])
