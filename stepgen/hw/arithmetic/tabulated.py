"""Elementary functions of `stepgen.semantics.tables` as circuits: tables, stages, multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from stepgen.ir.dtypes import ElementType, bf16, f32
from stepgen.semantics import numbers, tables
from stepgen.semantics.piecewise import PRECISION, Precision
from stepgen.semantics.tables import FACTOR_BITS, OCTAVES, POWER_BITS, Slope

__all__ = [
    "FACTOR_BITS",
    "LAST_OCTAVE",
    "MULTIPLIERS",
    "POWER_BITS",
    "STAGES",
    "Contents",
    "coefficients",
    "contents",
    "log2e",
    "of_divisor",
    "of_mantissa",
    "precision",
    "slope",
]

LAST_OCTAVE = OCTAVES - 1


def precision(element: ElementType) -> Precision:
    """Resolution of the tables for a number format."""
    return PRECISION[element.name]


def log2e(element: ElementType) -> int:
    """log2(e) in ``precision(element).log2e`` fraction bits."""
    return tables.log2e(element.name)


def slope(element: ElementType) -> Slope:
    """The slope of gelu_tanh for a number format."""
    return tables.slope(element.name)


@dataclass(frozen=True)
class Contents:
    """What a table of constants holds.

    Attributes
    ----------
    rows : tuple of tuple of int
        The numbers of each row.
    shapes : tuple of (int, bool)
        Bits of each number of a row, and whether it has a sign.
    """

    rows: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, bool], ...]

    @property
    def row_bits(self) -> int:
        """Bits of a row."""
        return sum(bits for bits, _ in self.shapes)

    @property
    def bits(self) -> int:
        """Bits in all."""
        return self.row_bits * len(self.rows)

    @property
    def words(self) -> list[int]:
        """The rows as bit patterns, their first number lowest."""
        words = []
        for row in self.rows:
            word = place = 0
            for number, (bits, _) in zip(row, self.shapes, strict=True):
                word |= (number & (1 << bits) - 1) << place
                place += bits
            words.append(word)
        return words


def _contents(columns: np.ndarray) -> Contents:
    rows = tuple(tuple(int(number) for number in row) for row in columns)
    shapes = []
    for column in zip(*rows, strict=True):
        low, high = min(column), max(column)
        signed = low < 0
        shapes.append(
            (max(high.bit_length(), (~low).bit_length() if signed else 0) + signed, signed)
        )
    return Contents(rows, tuple(shapes))


@cache
def coefficients(element: ElementType, *names: str) -> Contents:
    """The coefficients of tables one behind the other, a row for each segment."""
    found = [tables.table(name, element.name).coefficients for name in names]
    return _contents(np.concatenate(found))


@cache
def values(element: ElementType, *names: str) -> Contents:
    """The tables themselves, a row for each mantissa of `element`."""
    return _contents(np.concatenate([_of_mantissas(element, name) for name in names])[:, None])


@cache
def results(element: ElementType, *names: str) -> Contents:
    """The same, rounded to `element`: the bit pattern without that of 1."""
    found = [_of_mantissas(element, name) for name in names]
    scaled = np.concatenate(found) / 2.0 ** PRECISION[element.name].result
    rounded = np.stack([numbers.round_to(v, element.name) for v in (scaled, np.ones_like(scaled))])
    pattern, one = rounded.view(f"i{element.bits // 8}").astype(np.int64)
    return _contents((pattern - one)[:, None])


def _of_mantissas(element: ElementType, name: str) -> np.ndarray:
    stored = numbers.MANTISSA[element.name]
    above = PRECISION[element.name].argument - stored
    return tables.table(name, element.name)(np.arange(1 << stored, dtype=np.int64) << above)


STAGES = {
    "exp": {bf16: 12, f32: 23},
    "reciprocal": {bf16: 3, f32: 14},
    "divide": {bf16: 7, f32: 19},
    "sqrt": {bf16: 3, f32: 13},
    "rsqrt": {bf16: 3, f32: 14},
    "tanh": {bf16: 15, f32: 25},
    "silu": {bf16: 27, f32: 51},
    "gelu": {bf16: 28, f32: 45},
    "gelu_tanh": {bf16: 38, f32: 65},
}
"""Pipeline stages of each function."""
MULTIPLIERS = {
    "exp": {bf16: 2, f32: 10},
    "reciprocal": {bf16: 0, f32: 3},
    "divide": {bf16: 1, f32: 7},
    "sqrt": {bf16: 0, f32: 3},
    "rsqrt": {bf16: 0, f32: 3},
    "tanh": {bf16: 2, f32: 10},
    "silu": {bf16: 5, f32: 24},
    "gelu": {bf16: 6, f32: 28},
    "gelu_tanh": {bf16: 8, f32: 32},
}
"""Hardware multipliers of a lane."""


def of_mantissa(element: ElementType, *names: str) -> Contents:
    """The table of a function that takes a mantissa: a short one has a row for each."""
    return results(element, *names) if element == bf16 else coefficients(element, *names)


def of_divisor(element: ElementType) -> Contents:
    """The table of a quotient, which is rounded after a product."""
    of = values if element == bf16 else coefficients
    return of(element, "reciprocal")


def contents(name: str, element: ElementType) -> list[Contents]:
    """The tables in the circuit of a function, one of `STAGES`."""
    if name in ("silu", "gelu_tanh"):
        return [coefficients(element, "exp2"), coefficients(element, "reciprocal")]
    if name == "gelu":
        return [coefficients(element, "mills"), coefficients(element, "exp2")]
    if name in ("exp", "tanh"):
        return [coefficients(element, "exp2" if name == "exp" else name)]
    if name in ("sqrt", "rsqrt"):
        return [of_mantissa(element, f"{name}_even", f"{name}_odd")]
    return [of_divisor(element) if name == "divide" else of_mantissa(element, name)]
