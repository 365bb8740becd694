"""Arithmetic of tiles: pairs of elements, elements and a constant, and products of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import sympy

from stepgen.functions.bases import Binary, Constant, Folding, Running, of_products
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.matmul import params as matmul
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.applying import SYSTOLIC_ROWS
from stepgen.ir.dims import buffer_bound, product_bound
from stepgen.ir.dtypes import FLOATS, Tile, bf16, bool_, f32, int8, int16, wide
from stepgen.ir.errors import StepError
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.uniform import one_size
from stepgen.semantics import numbers, tables
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import Array
from stepgen.semantics.sums import Sums


class Add(Folding):
    """``a + b``, 1 operation per element; integers wrap around, floats round."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.add(a, b, at.element)

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a + b


class Sub(Binary):
    """``a - b``, 1 operation per element; integers wrap around, floats round."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.elementwise(np.subtract, at.element, a, b)

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

    def lane(self, a: Lane, b: Lane) -> Lane:
        """One pair."""
        return a / b


class Maximum(Folding):
    """``max(a, b)``, 1 operation per element; -0 is below +0, and a NaN makes a NaN."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return numbers.maximum(a, b)

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

    def lane(self, x: Lane) -> Lane:
        """One element."""
        return x * self.c


@dataclass(frozen=True)
class Matmul(Mapped, Running):
    """``[M, K] x [K, N] -> [M, N]``; int8 and int16 multiply into int32, bf16 into f32.

    Accum sums the products of a chunk, over tiles of the K dim; folding continues with the same
    accumulators, so consecutive tiles of K give the same sum as one long K. A sum of bf16 products
    is rounded once (`stepgen.semantics.sums`); that of f32 products is a tree over the lanes of a
    slice, then slices in increasing k.

    Parameters
    ----------
    transpose : bool
        Whether the weight tile is ``[N, K]``.
    """

    transpose: bool = False

    arity: ClassVar[int] = 2
    elements: ClassVar = (int8, int16, bf16, f32)
    counted: ClassVar = frozenset({1})
    extents_of: ClassVar[Literal["product"]] = "product"

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile."""
        self.check(call, tiles)
        x, weight = tiles
        if x.element != weight.element:
            call.fail(f"{self} needs tiles of one element type, not {x} and {weight}")
        inner, cols = weight.dims[::-1] if self.transpose else weight.dims
        if not x.cols.same(inner):
            call.fail(
                f"{self} can't multiply the tiles {x} and {weight}, whose inner dims differ, "
                f"{x.cols} against {inner}"
            )
        return Tile(x.rows, cols, wide(x.element))

    def state(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile, which must have one size over the chunk."""
        product = self.tile(call, *tiles)
        if not one_size(call, product.dims):
            call.fail(f"{self} can't add products of different sizes, {product}")
        return product

    def compute(self, at: Setting, x: Array, weight: Array) -> Array:
        """A product from accumulators at zero."""
        rows, cols = self.extents(x, weight)
        return self.finish(at, self.update(at, self.start(at, rows, cols, None), x, weight))

    def extents(self, *tiles: Array) -> tuple[int, int]:
        """Rows of the operand, columns of the weight."""
        x, weight = tiles
        return x.shape[0], weight.shape[0 if self.transpose else 1]

    def update(self, at: Setting, state: Any, x: Array, weight: Array) -> Any:
        """One more tile of K."""
        if self.transpose:
            weight = weight.T
        if x.shape[1] != weight.shape[0]:
            raise StepError(f"{self} can't multiply tiles of {say(x)} and {say(weight)}")
        if state.shape != (x.shape[0], weight.shape[1]):
            raise StepError(
                f"{self} can't add products of {say(x)} and {say(weight)} to {say(state)}"
            )
        if x.dtype == numbers.bfloat16:
            sums = state if isinstance(state, Sums) else Sums.of(state)
            return sums.plus(x, weight, at.lanes)
        return numbers.matmul(np.ascontiguousarray(x), weight, at.lanes, state)

    def finish(self, at: Setting, state: Any) -> Array:
        """The sums in the result's type."""
        return state.rounded() if isinstance(state, Sums) else super().finish(at, state)

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> matmul.Matmul:
        """The matrix unit, for integers or bf16 and a weight tile of static extents."""
        return self._unit(lanes, tiles, stops=not without_stops[1])

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """The matrix unit for chunks of bf16 tiles, which keeps their sums.

        Of integers the accumulator of what `terms` makes.
        """
        tiles = [s.dtype for s in streams if isinstance(s.dtype, Tile)]
        x, state = tiles[0], tiles[-1]
        if x.element != bf16:
            return super().fold_unit(lanes, streams, rank)
        if streams[-1].node.attrs["init"]:
            raise StepError(f"a circuit sums up the products of {x} from zero")
        rows = buffer_bound(f"the number of rows of {state}", [state.rows])
        most = product_bound(streams[0].shape[-streams[-1].node.attrs["rank"] :])
        if most is None:
            raise StepError(
                f"a circuit needs a bound for the number of tiles that it sums up, from which the "
                f"bits of sums follow, but chunks of {streams[0]} have none"
            )
        unit = self._unit(lanes, tiles, stops=True)
        fixed = state.rows.static is not None
        return replace(unit, rows=max(1, rows), fixed=fixed, tiles=max(1, most))

    def joins_dims(self, *tiles: Tile) -> bool:
        """Where the matrix unit keeps the sums."""
        return tiles[0].element == bf16

    def scan_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """The accumulator of what `terms` makes, of integers."""
        x = streams[0].dtype
        if isinstance(x, Tile) and x.element == bf16:
            raise StepError(f"{self} has no circuit yet that sends every sum of products of {x}")
        return super().scan_unit(lanes, streams, rank)

    def _unit(self, lanes: int, tiles: Sequence[Tile], *, stops: bool) -> matmul.Matmul:
        x, w, _ = tiles
        if x.element not in matmul.SUMMED:
            raise StepError(
                f"{self} has no circuit yet for {x}, only for {', '.join(map(str, matmul.SUMMED))}"
            )
        inner, cols = w.dims[::-1] if self.transpose else w.dims
        k, n = inner.static, cols.static
        if not k or not n:
            raise StepError(f"a weight tile of {w} needs static extents of at least 1")
        return matmul.Matmul(k, n, x.element.name, stops=stops, transposed=self.transpose)

    def terms(self, lanes: int, tiles: Sequence[Tile]) -> matmul.Matmul | None:
        """The matrix unit, where sums of complete products are exact; None of bf16.

        Raises
        ------
        StepError
            If there is no such unit.
        """
        if tiles[0].element == bf16:
            return None
        return self.unit(lanes, tiles, [False] * len(tiles))

    def lane(self, state: Lane, product: Lane) -> Lane:
        """One more product."""
        return state + product

    def keeps_rows(self, operand: int) -> bool:
        """Those of the first operand; rows of weights are summed over, or become columns."""
        return operand == 0

    def flops(self, *tiles: Tile) -> sympy.Expr:
        """2 M K N."""
        x, weight = tiles
        cols = weight.rows if self.transpose else weight.cols
        return 2 * x.elements * cols.expr

    def inner(self, *tiles: Tile) -> sympy.Expr:
        """K."""
        return tiles[0].cols.expr

    def held(self, *tiles: Tile) -> sympy.Expr:
        """The weight tile and a row of the operand for each row of the compute tile."""
        x, weight = tiles
        return SYSTOLIC_ROWS * x.cols.expr * x.element.bytes + weight.bytes
