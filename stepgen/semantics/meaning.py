"""What functions compute, and how they are found.

A function's meaning is one file in ``stepgen/semantics/functions``, named as the function, with one
subclass of `Meaning`. Parameters come from the `stepgen.ir.function.Function` of the program.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from stepgen.ir import registry
from stepgen.ir.dtypes import DataType, Tile
from stepgen.ir.errors import StepError
from stepgen.ir.function import Function
from stepgen.semantics.numbers import DTYPES, Array

_PACKAGE = "stepgen.semantics.functions"


@dataclass(frozen=True)
class Setting:
    """Where a function is applied.

    Attributes
    ----------
    function : Function
        The function with its parameters.
    out : DataType
        Type of what comes out; a tile's element type is what results are brought into.
    lanes : int
        Lanes L of a slice, for the order of sums.
    """

    function: Function
    out: DataType
    lanes: int

    @property
    def element(self) -> str:
        """Name of the element type that comes out."""
        return self.tile.element.name

    @property
    def tile(self) -> Tile:
        """Type of the tile that comes out."""
        assert isinstance(self.out, Tile)
        return self.out


class Meaning:
    """The meaning of one function; each method is for one way of using it."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """The tile that Map makes."""
        raise StepError(f"{at.function} can't be mapped")

    def identity(self, at: Setting) -> Any:
        """The number that an accumulator starts from where the program gives none."""
        return 0

    def start(self, at: Setting, rows: int, cols: int, init: float | None) -> Any:
        """The state before the first update."""
        number = self.identity(at) if init is None else init
        return np.full((rows, cols), number, DTYPES[at.element])

    def empty(self, at: Setting, init: float | None) -> Array:
        """The tile of a chunk without elements.

        Raises
        ------
        StepError
            If its size is decided at run time.
        """
        rows, cols = at.tile.rows.static, at.tile.cols.static
        if rows is None or cols is None:
            raise StepError(
                f"{at.function} folds an empty chunk, whose result of type {at.out} has no size"
            )
        return self.finish(at, self.start(at, rows, cols, init))

    def extents(self, at: Setting, *tiles: Array) -> tuple[int, int]:
        """Rows and columns of the state that these tiles update."""
        return tiles[0].shape[0], tiles[0].shape[1]

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """The state after one more element."""
        raise StepError(f"{at.function} can't fold")

    def finish(self, at: Setting, state: Any) -> Array:
        """The tile of a state."""
        tile: Array = state
        return tile

    def stream(self, at: Setting, element: Array) -> list[Array]:
        """The pieces that FlatMap makes of a tile or a selector."""
        raise StepError(f"{at.function} makes no stream of a tile")


class Fold:
    """The state of an Accum or a Scan.

    Parameters
    ----------
    meaning : Meaning
        What is applied.
    at : Setting
        Where.
    init : number or None
        Value of every element of the first state; None leaves it to the function.
    """

    def __init__(self, meaning: Meaning, at: Setting, init: float | None) -> None:
        self._meaning, self._at, self._init = meaning, at, init
        self._state: Any = None

    def update(self, tiles: list[Array]) -> None:
        """Take one more element in.

        Raises
        ------
        StepError
            If its size differs from what was folded before.
        """
        rows, cols = self._meaning.extents(self._at, *tiles)
        if self._state is None:
            self._state = self._meaning.start(self._at, rows, cols, self._init)
        self._state = self._meaning.update(self._at, self._state, *tiles)

    def tile(self) -> Array:
        """Return the state as a tile; what was folded before stays.

        Raises
        ------
        StepError
            If nothing was folded and the size of the state is decided at run time.
        """
        if self._state is None:
            return self._meaning.empty(self._at, self._init)
        return self._meaning.finish(self._at, self._state)

    def reset(self) -> None:
        """Begin a new chunk."""
        self._state = None


class Elementwise(Meaning, ABC):
    """A function of each element."""

    @abstractmethod
    def apply(self, at: Setting, x: Array) -> Array:
        """Apply to all elements."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """All elements."""
        return self.apply(at, tiles[0])


class Pairwise(Meaning, ABC):
    """A function of two elements at the same place; a row or column of one is repeated."""

    @abstractmethod
    def pair(self, at: Setting, a: Array, b: Array) -> Array:
        """Apply to all pairs."""

    def tile(self, at: Setting, *tiles: Array) -> Array:
        """All pairs.

        Raises
        ------
        StepError
            If extents differ at run time and none of them is 1.
        """
        a, b = tiles
        for mine, its in zip(a.shape, b.shape, strict=True):
            if mine != its and 1 not in (mine, its):
                raise StepError(f"{at.function} can't join tiles of {say(a)} and {say(b)}")
        return self.pair(at, a, b)

    def update(self, at: Setting, state: Any, *tiles: Array) -> Any:
        """The state and the next tile, of the same size."""
        if state.shape != tiles[0].shape:
            raise StepError(
                f"{at.function} can't fold tiles of different sizes, {say(state)} and "
                f"{say(tiles[0])}"
            )
        return self.pair(at, state, tiles[0])


def say(tile: Array) -> str:
    """The size of a tile as people read it."""
    return f"{tile.shape[0]}x{tile.shape[1]}"


@cache
def meanings() -> dict[str, Meaning]:
    """Every function's meaning by name."""
    return {name: cls() for name, cls in registry.classes(_PACKAGE, Meaning).items()}


def meaning(function: Function) -> Meaning:
    """The meaning of a function.

    Raises
    ------
    StepError
        If it has none.
    """
    if function.name not in meanings():
        raise StepError(f"the function {function.name} has no meaning yet")
    return meanings()[function.name]
