"""Functions as users write them, in a file of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.functions import FLOATS, Cut, Folded, Pieces, Setting, Unary
from stepgen.hw.units.flatten.params import Flatten
from stepgen.hw.units.promote.params import Promote
from stepgen.ir.dims import Dim, product
from stepgen.semantics import numbers
from stepgen.semantics.numbers import Array


@dataclass(frozen=True)
class LeakyRelu(Unary):
    """``max(x, slope * x)``, 2 operations per element."""

    slope: float = 0.01

    elements = FLOATS
    cost = 2

    def __post_init__(self) -> None:
        if not 0 < self.slope < 1:
            self.refuse(f"slope must lie between 0 and 1, not {self.slope}")

    def compute(self, at: Setting, x: Array) -> Array:
        slope = numbers.constant(self.slope, at.element)
        return numbers.maximum(x, numbers.multiply(x, slope, at.element))


class Last(Folded):
    """The last tile of a chunk."""

    def accumulator(self, call: Any, dims: Any, *tiles: sg.Tile) -> sg.Tile:
        return tiles[0]

    def update(self, at: Setting, state: Array, x: Array) -> Array:
        return x


class Halves(Cut):
    """The upper and the lower half of a tile."""

    def stream(self, call: Any, rank: int, element: Any) -> Pieces:
        half = sg.Tile(element.rows.static // 2, element.cols, element.element)
        return Pieces((*[sg.static(1)] * rank, sg.static(2)), half)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        return np.split(element, 2)


@dataclass(frozen=True)
class Strips(Cut):
    """The columns, so many at a time."""

    width: int = 2

    def stream(self, call: Any, rank: int, element: Any) -> Pieces:
        strip = sg.Tile(element.rows, self.width, element.element)
        return Pieces((*[sg.static(1)] * rank, sg.static(element.cols.static // self.width)), strip)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        return np.split(element, element.shape[1] // self.width, axis=1)


class Even(Cut):
    """The rows with even numbers, and the others."""

    def stream(self, call: Any, rank: int, element: Any) -> Pieces:
        half = sg.Tile(Dim(element.rows.expr / 2, "dynamic"), element.cols, element.element)
        return Pieces((*[sg.static(1)] * rank, sg.static(2)), half)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        return [element[0::2], element[1::2]]


class Positive(Cut):
    """The rows whose first element is positive: how many, the data decide."""

    def stream(self, call: Any, rank: int, element: Any) -> Pieces:
        row = sg.Tile(1, element.cols, element.element)
        return Pieces((*[sg.static(1)] * rank, call.symbols.fresh("P", "dynamic", None)), row)

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        return [row[None] for row in element if row[0] > 0]


class Stack(Folded):
    """The tiles of a chunk as one, below each other; a unit rewrites their stops."""

    grows = "rows"

    def accumulator(self, call: Any, dims: Any, *tiles: sg.Tile) -> sg.Tile:
        tile = tiles[0]
        return sg.Tile(product([*dims, tile.rows], call.symbols), tile.cols, tile.element)

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        return np.zeros((0, cols), at.dtype)

    def update(self, at: Setting, state: Array, x: Array) -> Array:
        return np.concatenate([state, x])

    def fold_unit(self, lanes: int, streams: Any, rank: int) -> Flatten | None:
        return Flatten(lo=1, hi=1 + rank, hold=False) if streams[0].dtype.rows.static else None


class Single(Cut):
    """Every row a stream of its own, for two units in a chain."""

    def stream(self, call: Any, rank: int, element: Any) -> Pieces:
        if rank != 0:
            call.fail(f"{self} makes streams of rank 0, not {rank}")
        return Pieces((element.rows,), sg.Tile(1, element.cols, element.element))

    def pieces(self, at: Setting, element: Array) -> list[Array]:
        return list(element[:, None])

    def cut_units(self, lanes: int, x: Any, rank: int) -> list[Any]:
        if x.dtype.rows.static is None:
            raise sg.StepError(f"{self} takes tiles of a static number of rows, not {x.dtype}")
        return [Promote(level=1, outermost=False), Flatten(lo=2, hi=3, hold=False)]
