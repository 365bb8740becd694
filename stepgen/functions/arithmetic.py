"""Arithmetic of tiles: pairs of elements, elements and a constant."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import SCALAR, Binary, Constant, Folding, of_products
from stepgen.hw.units.calculate.params import Operation
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.dtypes import FLOATS, NUMBERS, DataType, Tile, address, bool_
from stepgen.ir.expr import Expr
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.wire import ANY_NUMBER
from stepgen.semantics import numbers, tables
from stepgen.semantics.numbers import Array

COUNTED = (*NUMBERS, address)
"""Element types with sums."""


def _of_addresses(x: DataType) -> bool:
    return isinstance(x, Tile) and x.element == address


class Add(Folding):
    """``a + b``, 1 operation per element; integers wrap around, floats round.

    Addresses are added by Map alone.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.add(a, b, at.element)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a + b)

    def calculates(self) -> Operation:
        """A sum."""
        return "sum"

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a + b


class Sub(Binary):
    """``a - b``, 1 operation per element; integers wrap around, floats round.

    The difference of addresses is an address, at least 0.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.elementwise(np.subtract, at.element, a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a - b)

    def calculates(self) -> Operation:
        """A difference."""
        return "difference"

    def largest_number(self, *types: DataType) -> int:
        """Any address may be lowered to one that is used."""
        return ANY_NUMBER if _of_addresses(types[0]) else 0

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a - b


class Mul(Folding):
    """``a * b`` element by element, 1 operation each; int8 and int16 multiply into int32.

    Integers wrap around, floats round.
    """

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The tile of both shapes together."""
        return of_products(super().tile(call, *tiles))

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the input's shape."""
        return of_products(super().state(call, *tiles))

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.multiply(a, b, at.element)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a * b)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a * b

    def identity(self, at: Setting) -> Any:
        """One."""
        return 1


class Div(Binary):
    """``a / b``, 1 operation per element: a times the tabulated reciprocal of b, rounded once."""

    elements: ClassVar = FLOATS

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """`stepgen.semantics.tables.div`."""
        return tables.div(a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a / b)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a / b


class Maximum(Folding):
    """``max(a, b)``, 1 operation per element; -0 is below +0, and a NaN makes a NaN.

    Addresses are compared by Map alone.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.maximum(a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.maximum(a, b)

    def calculates(self) -> Operation:
        """The larger."""
        return "larger"

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a.maximum(b)

    def identity(self, at: Setting) -> Any:
        """The lowest number of the element type."""
        return numbers.lowest(at.element)


class Minimum(Folding):
    """``min(a, b)``, 1 operation per element; -0 is below +0, and a NaN makes a NaN.

    Addresses are compared by Map alone.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.minimum(a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.minimum(a, b)

    def calculates(self) -> Operation:
        """The smaller."""
        return "smaller"

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a.minimum(b)

    def identity(self, at: Setting) -> Any:
        """The highest number of the element type."""
        return numbers.highest(at.element)


@dataclass(frozen=True)
class Compare(Binary):
    """``a op b`` as bool, 1 operation per element; with `c` in place of b ``a op c``.

    -0 equals +0; a NaN differs from everything and is neither less nor greater. Addresses are
    compared one by one, in tiles of 1 x 1.

    Parameters
    ----------
    op : {"lt", "le", "eq", "ne", "ge", "gt"}
        Less than, less or equal, equal, not equal, greater or equal, greater than.
    c : number, optional
        In place of b, which is not given then: ``x.map(sg.fn.compare("lt", 3))``. It is rounded to
        the element type, and is a whole number where that is an integer; 0 to 2**32 - 2 for
        addresses.
    """

    op: Literal["lt", "le", "eq", "ne", "ge", "gt"]
    c: float | None = None

    elements: ClassVar = COUNTED

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of bool."""
        if self.c is not None and len(tiles) != 1:
            call.fail(f"{self} compares 1 tile with {self.c}, not {len(tiles)} tiles")
        both = super().tile(call, *tiles, *(() if self.c is None else tiles))
        if self.c is not None:
            call.constant(str(self), self.c, both.element)
        if both.element == address and both.dims != SCALAR.dims:
            call.fail(f"{self} compares {SCALAR}, not {both}: convert them to int32 first")
        if both.element == address and (self.c or 0) > ANY_NUMBER:
            call.fail(f"{self} compares addresses with numbers of 0 to {ANY_NUMBER}")
        return Tile(both.rows, both.cols, bool_)

    def fit(self, *tiles: Array) -> None:
        """Check that extents of two tiles are equal, or one of them is 1."""
        if len(tiles) > 1:
            super().fit(*tiles)

    def compute(self, at: Setting, a: Array, *others: Array) -> Array:
        """All pairs."""
        relation, b = getattr(operator, self.op), others[0] if others else self._number(a)
        with np.errstate(invalid="ignore"):  # of NaN
            return np.asarray(relation(numbers.canonical(a), numbers.canonical(b)), np.bool_)

    def _number(self, a: Array) -> Array:
        return numbers.constant(self.c or 0, numbers.name_of(a)).astype(a.dtype)

    def constant(self) -> int | None:
        """`c`, if it is given."""
        return None if self.c is None else int(self.c)

    def largest_number(self, *types: DataType) -> int:
        """What addresses are compared with."""
        constant = self.constant() if _of_addresses(types[0]) else 0
        return ANY_NUMBER if constant is None else constant

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the result."""
        return super().flops(*(*tiles, *tiles)[:2])

    def calculates(self) -> Operation:
        """The relation."""
        return self.op

    def lane(self, a: Lane, *others: Lane) -> Lane:
        """One pair."""
        return a.compare(self.op, others[0] if others else self.c or 0)


@dataclass(frozen=True)
class AtLeast(Constant):
    """``max(x, c)``, 1 operation per element; with 0 it is ReLU.

    The constant is rounded to the element type first; a NaN stays a NaN.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers, at least 0 for addresses.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.maximum(x, numbers.constant(self.c, at.element).astype(at.dtype))

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.maximum(x, self.c)

    def calculates(self) -> Operation:
        """The larger."""
        return "larger"

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.maximum(self.c)


@dataclass(frozen=True)
class AtMost(Constant):
    """``min(x, c)``, 1 operation per element; behind ``at_least(0)`` and with 6 it is ReLU6.

    The constant is rounded to the element type first; a NaN stays a NaN.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers, at least 0 for addresses.
    """

    elements: ClassVar = COUNTED

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.minimum(x, numbers.constant(self.c, at.element).astype(at.dtype))

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.minimum(x, self.c)

    def calculates(self) -> Operation:
        """The smaller."""
        return "smaller"

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.minimum(self.c)


@dataclass(frozen=True)
class Offset(Constant):
    """``x + c``, 1 operation per element.

    The constant is rounded to the element type first; integers wrap around. An address plus `c`
    must be an address: at least 0, whatever the sign of `c`.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers or addresses.
    """

    elements: ClassVar = COUNTED

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape and element type."""
        if len(tiles) == 1 and tiles[0].element == address:
            call.constant(str(self), abs(self.c), address)
            return tiles[0]
        return super().tile(call, *tiles)

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.add(x, numbers.constant(self.c, at.element), at.element)

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x + self.c)

    def calculates(self) -> Operation:
        """A sum, or a difference."""
        return "sum" if self.c >= 0 else "difference"

    def constant(self) -> int:
        """The distance."""
        return abs(int(self.c))

    def largest_number(self, *types: DataType) -> int:
        """Any address may be lowered to one that is used."""
        return ANY_NUMBER if self.c < 0 and _of_addresses(types[0]) else 0

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x + self.c


@dataclass(frozen=True)
class Scale(Constant):
    """``x * c``, 1 operation per element; int8 and int16 multiply into int32.

    The constant is rounded to the element type first; integers wrap around.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers, at least 0 for addresses.
    """

    elements: ClassVar = COUNTED

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of the same shape."""
        self.check(call, tiles)
        product = of_products(tiles[0])
        call.constant(str(self), self.c, product.element)
        return product

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.multiply(x, numbers.constant(self.c, at.element), at.element)

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x * self.c)

    def calculates(self) -> Operation:
        """A product."""
        return "product"

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x * self.c
