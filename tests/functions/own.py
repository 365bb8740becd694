"""Functions as users write them, in a file of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import stepgen as sg
from stepgen.functions import FLOATS, Cut, Folded, Pieces, Setting, Unary
from stepgen.ir.dims import Dim
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
