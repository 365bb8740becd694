"""Integer arithmetic of quantized models: chains of functions on arrays as on streams.

A kind of operation writes each chain of functions once. On streams it makes a program, on `Numbers`
the golden meaning: so both compute the same bits, roots and quotients of bf16 included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from stepgen.frontend.weight import Array
from stepgen.functions.bases import Unary
from stepgen.ir.dtypes import ElementType, Tile, bf16, element
from stepgen.ir.fn import fn
from stepgen.ir.function import Function, Mapped
from stepgen.ir.graph import Graph
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers

MOST: Final = {"int8": 127, "int16": 32767, "int32": 2**31 - 1}
"""The largest integer of each element type."""

SHARE: Final = 14
"""Places of factors that are at most 1, as int16."""

_POWERS: Final = 16
"""Entries of the table of exponentials for a difference of 1."""

_CALL: Final = Call(Graph("golden"), "map", (), {}, "the golden meaning")


class Mapping(Protocol):
    """A stream of tiles, or `Numbers`."""

    def map(self, function: Function, *others: Any) -> Any:
        """A function of each tile, and of those of others."""


M = TypeVar("M", bound=Mapping)


@dataclass(frozen=True)
class Numbers:
    """An array whose last dim is a row, to which functions of rows and of numbers apply.

    Attributes
    ----------
    array : array
        Of the element type that a stream would have.
    """

    array: Array

    def map(self, function: Function, *others: Numbers) -> Numbers:
        """What `Stream.map` makes of all rows, by the function's golden model.

        Dims of others are repeated as numpy does.
        """
        assert isinstance(function, Mapped)
        given = [self.array, *(other.array for other in others)]
        outer = np.broadcast_shapes(*(array.shape[:-1] for array in given))
        count = math.prod(outer)
        flat = [np.broadcast_to(a, (*outer, a.shape[-1])).reshape(count, -1) for a in given]
        at = _setting(function, *((*a.shape, numbers.name_of(a)) for a in flat))
        made = function.compute(at, *flat)
        return Numbers(np.asarray(made).reshape(*outer, -1))


@lru_cache(4096)
def _setting(function: Mapped, *tiles: tuple[int, int, str]) -> Setting:
    """The setting of a function of tiles, each given by rows, columns and element type."""
    out = function.tile(_CALL, *(Tile(rows, cols, element(name)) for rows, cols, name in tiles))
    assert isinstance(out, Tile)
    return Setting(out, numbers.DTYPES[out.element.name], lanes=1)


def products(a: Array, b: Array) -> Array:
    """Products of matrices of integers, as int32 that wrap around.

    Sums of products of up to 2^30 are exact in doubles.
    """
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return numbers.wrap(exact, "int32")


@cache
def rescaled(factor: float, to: ElementType | str) -> Function:
    """The function that multiplies int32 by a factor, of 15 bits if it is not a power of two.

    Raises
    ------
    StepError
        If it is out of range.
    """
    mantissa, exponent = math.frexp(factor)
    if mantissa == 0.5:
        shift = 1 - exponent
        return fn.requantize(2 ** max(-shift, 0), max(shift, 0), element(to))
    return fn.requantize(
        round(mantissa * 2**15) - (mantissa > 1 - 2**-16), 15 - exponent, element(to)
    )


def moved(have: int, want: int, to: ElementType | str) -> Function:
    """The function that brings int32 from some places to others."""
    return rescaled(2.0 ** (want - have), to)


def powers(differences: M, scale: float, to: ElementType, most: int) -> M:
    """``most * exp(scale * d)`` of differences of int32, which are at most 0.

    Those of -8 and less become 0.
    """
    made: M = differences.map(rescaled(scale * _POWERS, "int8")).map(_exponentials(to, most))
    return made


@cache
def _exponentials(to: ElementType, most: int) -> Function:
    """The table of `powers`."""
    index = np.arange(-128, 128)
    table = np.rint(most * np.exp(index / _POWERS))
    table[0] = 0  # where a row is masked
    table[index > 0] = most
    return fn.lookup(tuple(table.astype(int).tolist()), to)


def quotients(sums: M, total: Any, factor: float, to: ElementType | str) -> M:
    """``factor * sums / total``, of int32, divided in bf16; the factor is a power of two."""
    divisor = total.map(fn.convert(bf16))
    if factor != 1:
        divisor = divisor.map(fn.scale(1 / factor))
    made: M = sums.map(fn.convert(bf16)).map(fn.div(), divisor).map(fn.convert(element(to)))
    return made


def results(function: Unary, places: int) -> Array:
    """What a function makes of each int8 with places, as real numbers; 0 where it is none."""
    with np.errstate(all="ignore"):
        exact = function.exact(np.arange(-128, 128) * 2.0**-places)
    return np.nan_to_num(exact, posinf=0.0, neginf=0.0)


@cache
def tabulated(function: Unary, places: int, to: str, want: int) -> Function:
    """A function of int8 with places, as a table of integers with the wanted places."""
    return fn.lookup(tuple(integers(results(function, places), to, want).tolist()), element(to))


def places_for(most: float, to: str) -> int:
    """The most places with which a number fits an element type."""
    return 0 if most == 0 else math.floor(math.log2(MOST[to] / most))


def integers(array: Array, to: str, places: int) -> Array:
    """Real numbers as the nearest integers with places; those that do not fit are cut off."""
    most = MOST[to]
    exact = np.rint(np.ldexp(np.asarray(array, np.float64), places))
    return np.clip(exact, -most, most).astype(numbers.DTYPES[to])
