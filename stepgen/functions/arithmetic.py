"""Arithmetic of tiles: pairs of elements, elements and a constant."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import Binary, Constant, Folding, of_products
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.dtypes import FLOATS, Tile, bool_
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers, tables
from stepgen.semantics.numbers import Array


class Add(Folding):
    """``a + b``, 1 operation per element; integers wrap around, floats round."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.add(a, b, at.element)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a + b)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a + b


class Sub(Binary):
    """``a - b``, 1 operation per element; integers wrap around, floats round."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.elementwise(np.subtract, at.element, a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.asarray(a - b)

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
    """``max(a, b)``, 1 operation per element; -0 is below +0, and a NaN makes a NaN."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.maximum(a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.maximum(a, b)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a.maximum(b)

    def identity(self, at: Setting) -> Any:
        """The lowest number of the element type."""
        return numbers.lowest(at.element)


class Minimum(Folding):
    """``min(a, b)``, 1 operation per element; -0 is below +0, and a NaN makes a NaN."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.minimum(a, b)

    def exact(self, a: Array, b: Array) -> Array:
        """In doubles."""
        return np.minimum(a, b)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a.minimum(b)

    def identity(self, at: Setting) -> Any:
        """The highest number of the element type."""
        return numbers.highest(at.element)


@dataclass(frozen=True)
class Compare(Binary):
    """``a op b`` as bool, 1 operation per element.

    -0 equals +0; a NaN differs from everything and is neither less nor greater.

    Parameters
    ----------
    op : {"lt", "le", "eq", "ne", "ge", "gt"}
        Less than, less or equal, equal, not equal, greater or equal, greater than.
    """

    op: Literal["lt", "le", "eq", "ne", "ge", "gt"]

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of bool."""
        both = super().tile(call, *tiles)
        return Tile(both.rows, both.cols, bool_)

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        relation = getattr(operator, self.op)
        with np.errstate(invalid="ignore"):  # of NaN
            return np.asarray(relation(numbers.canonical(a), numbers.canonical(b)), np.bool_)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a.compare(self.op, b)


@dataclass(frozen=True)
class AtLeast(Constant):
    """``max(x, c)``, 1 operation per element; with 0 it is ReLU.

    The constant is rounded to the element type first; a NaN stays a NaN.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.maximum(x, numbers.constant(self.c, at.element).astype(at.dtype))

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.maximum(x, self.c)

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
        A whole number where the elements are integers.
    """

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.minimum(x, numbers.constant(self.c, at.element).astype(at.dtype))

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.minimum(x, self.c)

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x.minimum(self.c)


@dataclass(frozen=True)
class Offset(Constant):
    """``x + c``, 1 operation per element.

    The constant is rounded to the element type first; integers wrap around.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return numbers.add(x, numbers.constant(self.c, at.element), at.element)

    def exact(self, x: Array) -> Array:
        """In doubles."""
        return np.asarray(x + self.c)

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
        A whole number where the elements are integers.
    """

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

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x * self.c
