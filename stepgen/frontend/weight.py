"""Weights of a model: shape and element type at once, numbers when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepgen.ir.arguments import shown
from stepgen.ir.errors import StepError

Array = npt.NDArray[Any]

ELEMENTS: Final = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "int32": np.dtype(np.int32),
    "int16": np.dtype(np.int16),
    "int8": np.dtype(np.int8),
}
"""Element types of weights. Exact passes make doubles of what they compute."""


class Weight:
    """An array that is read or computed when its numbers are first asked for.

    So a model of gigabytes is loaded, transformed and lowered by its shapes alone.

    Parameters
    ----------
    shape : tuple of int
    element : str
        One of `ELEMENTS`.
    read : callable
        Gives the numbers.
    """

    def __init__(self, shape: Sequence[int], element: str, read: Callable[[], Array]) -> None:
        self.shape = tuple(shape)
        self.element = element
        self.read = read

    @classmethod
    def of(cls, numbers: Any, what: str = "a weight") -> Weight:
        """A weight of numbers that are there; those of f16 become f32.

        Raises
        ------
        StepError
            If they are of another type than `ELEMENTS`.
        """
        if isinstance(numbers, Weight):
            return numbers
        array = np.asarray(numbers)
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        if array.dtype == np.int64 and (array == array.astype(np.int32)).all():
            array = array.astype(np.int32)
        for element, dtype in ELEMENTS.items():
            if array.dtype == dtype:
                return cls(array.shape, element, lambda: array)
        given = array.dtype if array.dtype != object else shown(numbers)
        raise StepError(f"{what} must have numbers of {', '.join(ELEMENTS)}, not {given}")

    @cached_property
    def array(self) -> Array:
        """The numbers, kept once they are read."""
        found = self.read()
        assert found.shape == self.shape, f"{found.shape} in place of {self.shape}"
        return found

    def numbers(self) -> Array:
        """The numbers, not kept if they were not yet asked for."""
        kept: Array | None = self.__dict__.get("array")
        return self.read() if kept is None else kept

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return self.size * int(ELEMENTS[self.element].itemsize)

    def moved(self, shape: Sequence[int], how: Callable[[Array], Array]) -> Weight:
        """The same numbers, or some of them, in another order."""
        return Weight(shape, self.element, lambda: np.asarray(how(self.numbers()), order="C"))

    @property
    def T(self) -> Weight:
        """With the last two dims exchanged."""
        *outer, rows, cols = self.shape
        return self.moved((*outer, cols, rows), lambda a: np.swapaxes(a, -1, -2))

    def __repr__(self) -> str:
        return f"Weight({self.element}[{', '.join(map(str, self.shape))}])"

    def same(self, other: Weight) -> bool:
        """Whether it has the same shape, type and numbers."""
        alike = (self.shape, self.element) == (other.shape, other.element)
        return alike and np.array_equal(self.array, other.array)


def computed(how: Callable[..., Array], shape: Sequence[int], *weights: Weight) -> Weight:
    """What arithmetic in doubles makes of weights."""

    def read() -> Array:
        return np.asarray(how(*(w.numbers().astype(np.float64) for w in weights)), np.float64)

    return Weight(shape, "f64", read)


def stacked(weights: Sequence[Weight]) -> Weight:
    """Weights of equal layers as one, with a dim of layers in front."""
    first = weights[0]
    shape = (len(weights), *first.shape)
    return Weight(shape, first.element, lambda: np.stack([w.numbers() for w in weights]))


def joined(weights: Sequence[Weight], axis: int) -> Weight:
    """Weights behind each other in a dim counted from the last, as -1."""
    shape = list(weights[0].shape)
    shape[axis] = sum(w.shape[axis] for w in weights)
    element = next(
        (e for e in ("f64", "f32") if any(w.element == e for w in weights)), weights[0].element
    )

    def read() -> Array:
        return np.concatenate([w.numbers().astype(ELEMENTS[element]) for w in weights], axis)

    return Weight(shape, element, read)
