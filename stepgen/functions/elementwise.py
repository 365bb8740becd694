"""Functions of each element: conversions, and elementary functions by table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from stepgen.functions.bases import Unary, of_products
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.dtypes import ElementType, Tile, address, bool_, element, int8, int32
from stepgen.ir.function import FLOATS, NUMBERS
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers, tables
from stepgen.semantics.numbers import Array


@dataclass(frozen=True)
class Convert(Unary):
    """Each number as one of another type: the nearest, ties to even, integers saturate.

    Parameters
    ----------
    to : ElementType or its name
        The resulting type; 1 operation per element.
    """

    to: ElementType | Literal["int8", "int32", "bf16", "f32"]

    elements: ClassVar = (*NUMBERS, bool_, address)
    converts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", element(self.to))
        if self.to not in NUMBERS:
            self.refuse(f"it makes {', '.join(str(e) for e in NUMBERS)}, not {self.to}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, element(self.to))

    def compute(self, at: Setting, x: Array) -> Array:
        """`stepgen.semantics.numbers.convert`."""
        return numbers.convert(x, at.element)

    def lane(self, x: Lane) -> Lane | None:
        """One element; addresses have no circuit."""
        return None if x.element == address else x.convert(element(self.to))


@dataclass(frozen=True)
class Requantize(Unary):
    """``saturate(round(x * multiplier / 2**shift))``, to the nearest, ties to even.

    Parameters
    ----------
    multiplier : int
        1 to 32767.
    shift : int
        0 to 31.
    """

    multiplier: int = 1
    shift: int = 0

    elements: ClassVar = (int32,)

    def __post_init__(self) -> None:
        if not 1 <= self.multiplier <= 32767:
            self.refuse(f"multiplier must be within 1..32767, not {self.multiplier}")
        if not 0 <= self.shift <= 31:
            self.refuse(f"shift must be within 0..31, not {self.shift}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of int8."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, int8)

    def compute(self, at: Setting, x: Array) -> Array:
        """In integers."""
        product = x.astype(np.int64) * self.multiplier
        return numbers.saturate(numbers.shift_round(product, self.shift), at.element)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.requantize(self.multiplier, self.shift)


class Square(Unary):
    """``x * x``, 1 operation per element; int8 multiplies into int32.

    Integers wrap around, floats round.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        return of_products(super().tile(call, *tiles))

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.multiply(x, x, at.element)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x * x


class Tabulated(Unary, abstract=True):
    """An elementary function, by the table of the same name in `stepgen.semantics.tables`."""

    elements: ClassVar = FLOATS

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return tables.apply(self.name, x)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.apply(self.name)


class Exp(Tabulated):
    """``e ** x``, 4 operations per element (paper, section 4.2)."""

    cost: ClassVar[int] = 4


class Gelu(Tabulated):
    """``x * Phi(x)``, Phi being the normal distribution: the exact GELU.

    Counted as 8 operations per element like SiLU.
    """

    cost: ClassVar[int] = 8


class GeluTanh(Tabulated):
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``: GELU of GPT-2 and Gemma.

    Counted as 8 operations per element like SiLU.
    """

    cost: ClassVar[int] = 8


class Reciprocal(Tabulated):
    """``1 / x``, 1 operation per element."""


class Rsqrt(Tabulated):
    """``1 / sqrt(x)``, 4 operations per element (paper, section 4.2)."""

    cost: ClassVar[int] = 4


class Silu(Tabulated):
    """``x / (1 + e ** -x)``, 8 operations per element (paper, section 4.2)."""

    cost: ClassVar[int] = 8
    per_inner: ClassVar[bool] = True


class Sqrt(Tabulated):
    """``sqrt(x)``, counted as 4 operations per element like rsqrt."""

    cost: ClassVar[int] = 4


class Tanh(Tabulated):
    """``tanh(x)``, counted as 4 operations per element like exp."""

    cost: ClassVar[int] = 4
