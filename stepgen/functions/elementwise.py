"""Functions of each element: conversions, and elementary functions by table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR, Unary, of_products
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.as_scalar import params as as_scalar
from stepgen.hw.units.as_tile import params as as_tile
from stepgen.hw.units.pcu import params as pcu
from stepgen.hw.units.pcu.params import LOOKUP_ROWS, PLACES, SCALED, Lane
from stepgen.ir.dtypes import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    DataType,
    ElementType,
    Tile,
    address,
    bool_,
    element,
    int8,
    int32,
)
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Function, Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.wire import ANY_NUMBER, wire_levels
from stepgen.semantics import numbers, tables
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import Array


def scaled(fn: Function, to: ElementType | str) -> ElementType:
    """The element type that a function scales to.

    Raises
    ------
    StepError
        If it is none of those that sums are scaled to.
    """
    if element(to) not in SCALED:
        fn.refuse(f"it makes {', '.join(map(str, SCALED))}, not {to}")
    return element(to)


@dataclass(frozen=True)
class Convert(Unary):
    """Each number as one of another type: the nearest, ties to even, integers saturate.

    A NaN becomes 0 as an integer. A single integer can become an address, of which it must be one:
    at least 0.

    Parameters
    ----------
    to : ElementType or its name
        The resulting type; 1 operation per element.
    places : int, optional
        Binary places of the integers, between floats and integers: these count ``2**-places``.
    """

    to: ElementType | Literal["int8", "int16", "int32", "bf16", "f32", "address"]
    places: int | None = None

    elements: ClassVar = (*NUMBERS, bool_, address)
    converts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", element(self.to))
        made = (*NUMBERS, address)
        if self.to not in made:
            self.refuse(f"it makes {', '.join(str(e) for e in made)}, not {self.to}")
        if self.places is not None and not -PLACES <= self.places <= PLACES:
            self.refuse(f"places must be within {-PLACES}..{PLACES}, not {self.places}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        ends = tiles[0].element, element(self.to)
        if self.places is not None and not all(
            any(end in kinds for end in ends) for kinds in (FLOATS, INTEGERS)
        ):
            call.fail(f"{self} needs a float and an integer, not {ends[0]} and {ends[1]}")
        if self.to == address and (
            tiles[0].element not in INTEGERS or tiles[0].dims != SCALAR.dims
        ):
            call.fail(
                f"{self} makes addresses of one integer, such as int32 1x1, not of {tiles[0]}"
            )
        return Tile(tiles[0].rows, tiles[0].cols, element(self.to))

    def compute(self, at: Setting, x: Array) -> Array:
        """`stepgen.semantics.numbers.convert`; with places of what is scaled exactly.

        Raises
        ------
        StepError
            If an address is to be made of a number below 0.
        """
        if self.to == address and (x < 0).any():
            raise StepError(f"{self} gets {x.min()}, and addresses are at least 0")
        if self.places is None:
            return numbers.convert(x, at.element)
        return numbers.convert_places(x, at.element, self.places)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.convert(element(self.to), self.places)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> UnitParams | None:
        """The PCU of `lane`; of addresses and single flags, which are not tiles, `as_tile`."""
        x = tiles[0]
        if self.to == address:
            return as_scalar.AsScalar(x.element.name)
        if wire_levels(x):
            return super().unit(lanes, tiles, without_stops)
        assert x.cols.static is not None
        return as_tile.AsTile(x.element.name, element(self.to).name, x.cols.static)

    def largest_number(self, *types: DataType) -> int:
        """Addresses have no bound."""
        (x,) = types
        return ANY_NUMBER if isinstance(x, Tile) and x.element == address else 0


@dataclass(frozen=True)
class Requantize(Unary):
    """``saturate(round(x * multiplier / 2**shift))``, to the nearest, ties to even.

    Parameters
    ----------
    multiplier : int
        1 to 32767.
    shift : int
        0 to 31.
    to : ElementType or its name
        Type of the results, int8 or int16.
    """

    multiplier: int = 1
    shift: int = 0
    to: ElementType | Literal["int8", "int16"] = "int8"

    elements: ClassVar = (int32,)

    def __post_init__(self) -> None:
        if not 1 <= self.multiplier <= 32767:
            self.refuse(f"multiplier must be within 1..32767, not {self.multiplier}")
        if not 0 <= self.shift <= 31:
            self.refuse(f"shift must be within 0..31, not {self.shift}")
        object.__setattr__(self, "to", scaled(self, self.to))

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, element(self.to))

    def compute(self, at: Setting, x: Array) -> Array:
        """In integers."""
        product = x.astype(np.int64) * self.multiplier
        return numbers.saturate(numbers.shift_round(product, self.shift), at.element)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.requantize(self.multiplier, self.shift, element(self.to))


@dataclass(frozen=True)
class RequantizeBy(Mapped):
    """``saturate(round(x * multiplier / 2**shift))`` of three tiles: per column, row or element.

    x and the multiplier are int32, the shift is int8; 1 operation per element, to the nearest, ties
    to even. A row of multipliers and a row of shifts scale each column by its own fraction. A
    multiplier must lie within 0..32767 and a shift within 0..31: the reference refuses others, of
    which circuits take the lower 15 and 5 bits.

    Parameters
    ----------
    to : ElementType or its name
        Type of the results, int8 or int16.
    """

    to: ElementType | Literal["int8", "int16"] = "int8"

    arity: ClassVar[int] = 3
    elements: ClassVar = (int32, int8)
    extents_of: ClassVar[Literal["first"]] = "first"

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", scaled(self, self.to))

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the extents of the first."""
        self.check(call, tiles)
        x, *scales = tiles
        if [t.element for t in tiles] != [int32, int32, int8]:
            given = f"{x}, {scales[0]} and {scales[1]}"
            call.fail(f"{self} needs tiles of int32, int32 and int8, not {given}")
        for scale in scales:
            if not all(a.same(b) or b == 1 for a, b in zip(x.dims, scale.dims, strict=True)):
                call.fail(f"{self} can't scale {x} by {scale}: it needs its extents, or 1")
        return Tile(x.rows, x.cols, element(self.to))

    def fit(self, *tiles: Array) -> None:
        """Check that extents are those of the first, or 1."""
        x, *scales = tiles
        for scale in scales:
            if any(b not in (a, 1) for a, b in zip(x.shape, scale.shape, strict=True)):
                raise StepError(f"{self} can't scale a tile of {say(x)} by one of {say(scale)}")

    def compute(self, at: Setting, x: Array, multiplier: Array, shift: Array) -> Array:
        """In integers.

        Raises
        ------
        StepError
            If a multiplier or a shift is out of its range.
        """
        for what, scale, most in (("multiplier", multiplier, 32767), ("shift", shift, 31)):
            strange = scale[(scale < 0) | (scale > most)]
            if strange.size:
                raise StepError(f"{self}: a {what} must be within 0..{most}, not {strange[0]}")
        product = x.astype(np.int64) * multiplier
        return numbers.saturate(numbers.shift_round(product, shift), at.element)

    def lane(self, x: Lane, multiplier: Lane, shift: Lane) -> Lane:
        """One element."""
        return x.requantize(multiplier, shift, element(self.to))

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> UnitParams | None:
        """The PCU of `lane`."""
        return pcu.of_function(self.lane, tiles, lanes)

    def keeps_rows(self, operand: int) -> bool:
        """Each result is at the position of its operands."""
        return True

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element."""
        return tiles[0].elements


class Square(Unary):
    """``x * x``, 1 operation per element; int8 and int16 multiply into int32.

    Integers wrap around, floats round.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        return of_products(super().tile(call, *tiles))

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.multiply(x, x, at.element)

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.square(x)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x * x


@dataclass(frozen=True)
class Lookup(Unary):
    """Any function of an int8, from a table of its 256 results, 1 operation per element.

    Parameters
    ----------
    table : sequence of number
        The result for -128, for -127, and so on up to 127; no NaN. Floats are rounded to their
        type, integers must be numbers of it.
    to : ElementType or its name
        Type of the results.
    """

    table: Sequence[float]
    to: ElementType | Literal["int8", "int16", "int32", "bf16", "f32"] = "int8"

    elements: ClassVar = (int8,)
    converts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", element(self.to))
        if self.to not in NUMBERS:
            self.refuse(f"it makes {', '.join(str(e) for e in NUMBERS)}, not {self.to}")
        if len(self.table) != LOOKUP_ROWS:
            self.refuse(f"table must have {LOOKUP_ROWS} numbers, not {len(self.table)}")
        try:
            self._results()
        except StepError as error:
            self.refuse(str(error))

    def __str__(self) -> str:
        return f"lookup(table of {len(self.table)}, to={self.to})"

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        return Tile(tiles[0].rows, tiles[0].cols, element(self.to))

    def _results(self) -> Array:
        return numbers.as_element(self.table, element(self.to).name, "table")

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return np.asarray(self._results()[x.astype(np.int64) + LOOKUP_ROWS // 2])

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.lookup(self.table, element(self.to))


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

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.exp(x)


_erf = np.vectorize(math.erf, otypes=[np.float64])
"""The error function, which numpy lacks."""


class Gelu(Tabulated):
    """``x * Phi(x)``, Phi being the normal distribution: the exact GELU.

    Counted as 8 operations per element like SiLU.
    """

    cost: ClassVar[int] = 8

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x * (1 + _erf(x / math.sqrt(2))) / 2, np.float64)


class GeluTanh(Tabulated):
    """``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``: GELU of GPT-2 and Gemma.

    Counted as 8 operations per element like SiLU.
    """

    cost: ClassVar[int] = 8

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


class Reciprocal(Tabulated):
    """``1 / x``, 1 operation per element."""

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(1 / x)


class Rsqrt(Tabulated):
    """``1 / sqrt(x)``, 4 operations per element (paper, section 4.2)."""

    cost: ClassVar[int] = 4

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(1 / np.sqrt(x))


class Silu(Tabulated):
    """``x / (1 + e ** -x)``, 8 operations per element (paper, section 4.2)."""

    cost: ClassVar[int] = 8
    per_inner: ClassVar[bool] = True

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x * (1 + np.tanh(x / 2)) / 2)


class Sqrt(Tabulated):
    """``sqrt(x)``, counted as 4 operations per element like rsqrt."""

    cost: ClassVar[int] = 4

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.sqrt(x)


class Tanh(Tabulated):
    """``tanh(x)``, counted as 4 operations per element like exp."""

    cost: ClassVar[int] = 4

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.tanh(x)
