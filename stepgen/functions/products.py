"""Products of matrices, and their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import Running
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.matmul import params as matmul
from stepgen.hw.units.matvec import params as matvec
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.applying import SYSTOLIC_ROWS
from stepgen.ir.dims import Dim, buffer_bound, product_bound
from stepgen.ir.dtypes import ElementType, Tile, bf16, f32, int8, int16, int32, wide
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.ir.stream import Stream
from stepgen.ir.uniform import one_size
from stepgen.ir.wire import TILE_LEVELS
from stepgen.semantics import numbers
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import Array
from stepgen.semantics.sums import Sums

FACTORS = (int8, int16, bf16, f32)
"""Element types that are multiplied."""


@dataclass(frozen=True)
class _Product(Mapped, abstract=True):
    """A product of two matrices, and how it adds up."""

    transpose: bool = False
    most: int | None = None

    elements: ClassVar[tuple[ElementType, ...]] = FACTORS
    counted: ClassVar = frozenset({1})
    extents_of: ClassVar[Literal["product"]] = "product"
    any_columns: ClassVar = True

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            self.refuse(f"most must be an integer of at least 1, not {self.most}")

    def product(self, call: Call, x: Tile, weight: Tile) -> Tile:
        """The product's tile."""
        if x.element not in FACTORS:
            call.fail(f"{self} multiplies {', '.join(map(str, FACTORS))}, not {x}")
        if x.element != weight.element:
            call.fail(
                f"{self} needs tiles of one element type, not {x} and {weight}: "
                "sg.fn.convert makes one of the other"
            )
        inner, cols = weight.dims[::-1] if self.transpose else weight.dims
        if not x.cols.same(inner):
            call.fail(
                f"{self} can't multiply the tiles {x} and {weight}, whose inner dims differ, "
                f"{x.cols} against {inner}"
            )
        return Tile(x.rows, cols, wide(x.element))

    def more(self, at: Setting, state: Any, x: Array, weight: Array) -> Any:
        """The sums and one more tile of K."""
        if self.most is not None:
            self._fits(at, weight)
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

    def done(self, state: Any) -> Array:
        """The sums in the result's type."""
        return state.rounded() if isinstance(state, Sums) else np.asarray(state)

    def matrix_unit(self, tiles: Sequence[Tile], *, stops: bool) -> matmul.Matmul:
        """The matrix unit, for a weight tile whose extents are static or have a bound.

        Raises
        ------
        StepError
            If there is none.
        """
        k, n = self._weights(tiles)
        inner, cols = self._dims(tiles[1])
        return matmul.Matmul(
            k,
            n,
            tiles[0].element.name,
            stops=stops,
            transposed=self.transpose,
            dynamic="k" * (inner.static is None) + "n" * (cols.static is None),
        )

    def _dims(self, weight: Tile) -> tuple[Dim, Dim]:
        """K and N of a weight tile."""
        inner, cols = weight.dims[::-1] if self.transpose else weight.dims
        return inner, cols

    def _weights(self, tiles: Sequence[Tile]) -> tuple[int, int]:
        """K and N of the weight tile of a circuit, or the most that there is memory for."""
        w = tiles[1]
        k, n = (self._held(w, dim) for dim in self._dims(w))
        if not k or not n:
            raise StepError(f"a weight tile of {w} needs extents of at least 1")
        return k, n

    def _held(self, weight: Tile, dim: Dim) -> int:
        """The most of a dim of a weight tile that there is memory for."""
        known = [n for n in (dim.bound, self.most) if n is not None]
        if dim.static is not None:
            return dim.static
        if not known:
            raise StepError(
                f"the circuit for a weight tile of {weight} needs a bound of {dim}, by bound= "
                f"where it is made, or by {self.name}(most=...)"
            )
        return min(known)

    def _fits(self, at: Setting, weight: Array) -> None:
        """Refuse a weight tile of more rows or columns than there is memory for."""
        assert isinstance(at.given, Tile)
        any_of = [at.given.cols.static is None, at.tile.cols.static is None]
        if self.transpose:
            any_of.reverse()
        for what, number, dynamic in zip(("rows", "columns"), weight.shape, any_of, strict=True):
            if dynamic and self.most is not None and number > self.most:
                raise StepError(
                    f"{self.name} gets a tile of weights of {number} {what}, and has memory for "
                    f"{self.most}"
                )

    def kept_because(self, tiles: Sequence[Tile]) -> str:
        """Why a circuit keeps tiles of weights; empty where they stream past one row."""
        x = tiles[0]
        if x.rows != 1:
            return f"{x.rows} rows share a tile"
        if x.element == f32:
            return "f32"
        rows, cols = tiles[1].dims
        if cols.static is None or not (rows.static is not None or self._streams(rows)):
            return "their size is dynamic"
        if x.element == bf16 and not self.transpose and cols.static < matvec.LEAST_TURNED:
            return f"bf16 of fewer than {matvec.LEAST_TURNED} columns"
        return ""

    def _streams(self, rows: Dim) -> bool:
        """Whether tiles of so many rows stream through, which their bound alone limits."""
        limited = rows.bound is not None and (self.most is None or self.most >= rows.bound)
        return limited and (self.transpose or not rows.may_be_empty)

    def keeps_rows(self, operand: int) -> bool:
        """Not those of weights, which are summed over, or become columns."""
        return operand != 1

    def flops(self, *tiles: Tile) -> Expr:
        """2 M K N."""
        x, weight = tiles[:2]
        cols = weight.rows if self.transpose else weight.cols
        return 2 * x.elements * cols.expr

    def inner(self, *tiles: Tile) -> Expr:
        """K."""
        return tiles[0].cols.expr

    def held(self, *tiles: Tile) -> Expr:
        """The weight tile and a row of the operand for each row of the compute tile."""
        x, weight = tiles[:2]
        return SYSTOLIC_ROWS * x.cols.expr * x.element.bytes + weight.bytes


@dataclass(frozen=True)
class MatmulAdd(_Product):
    """``[M, K] x [K, N] + [1, N] -> [M, N]``: products whose sums start at a row, such as a bias.

    The row is int32 where tiles are int8 or int16, f32 where they are bf16 or f32. Integers give
    the bits of matmul and add. Floats do not: the row is a term of the sum, that of bf16 is rounded
    once with it (`stepgen.semantics.sums`).

    Parameters
    ----------
    transpose : bool
        Whether the weight tile is ``[N, K]``.
    most : int, optional
        Most rows or columns of a weight tile, where they are dynamic, that a circuit has memory
        for; by default their bound. A larger tile is an error at run time.
    """

    arity: ClassVar[int] = 3
    elements: ClassVar = (*FACTORS, int32)

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile."""
        self.check(call, tiles)
        x, weight, start = tiles
        product = self.product(call, x, weight)
        row = Tile(1, product.cols, product.element)
        if not (start.rows == 1 and start.cols.same(row.cols) and start.element == row.element):
            call.fail(f"{self} starts sums of {product} at a row, {row}, not at {start}")
        return product

    def compute(self, at: Setting, x: Array, weight: Array, start: Array) -> Array:
        """A product from accumulators at the row."""
        state = np.repeat(start, x.shape[0], axis=0)
        return self.done(self.more(at, state, x, weight))

    def kept_because(self, tiles: Sequence[Tile]) -> str:
        """As for other products; in the unit that weights stream through sums start at zero."""
        return super().kept_because(tiles) or "sums start at a row, such as a bias"

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> matmul.Matmul:
        """The matrix unit, which keeps the row beside the weights."""
        return replace(self.matrix_unit(tiles, stops=not without_stops[1]), bias=True)


@dataclass(frozen=True)
class Matmul(_Product, Running):
    """``[M, K] x [K, N] -> [M, N]``; int8 and int16 multiply into int32, bf16 into f32.

    Accum sums the products of a chunk, over tiles of the K dim; folding continues with the same
    accumulators, so consecutive tiles of K give the same sum as one long K. A sum of bf16 products
    is rounded once (`stepgen.semantics.sums`), in Scan each time that it is sent; that of f32
    products is a tree over the lanes of a slice, then slices in increasing k; its circuit is large.

    In a circuit weights stream through where ``x`` has one row, also those of any number of rows
    up to a bound, such as the keys and values of a cache. Tiles of other weights are kept.

    Parameters
    ----------
    transpose : bool
        Whether the weight tile is ``[N, K]``.
    most : int, optional
        Most rows or columns of a weight tile, where they are dynamic, that a circuit has memory
        for; by default their bound. A larger tile is an error at run time.
    """

    arity: ClassVar[int] = 2

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The product's tile."""
        self.check(call, tiles)
        return self.product(call, *tiles)

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

    def update(self, at: Setting, state: Any, x: Array, weight: Array) -> Any:
        """One more tile of K."""
        return self.more(at, state, x, weight)

    def finish(self, at: Setting, state: Any) -> Array:
        """The sums in the result's type."""
        return self.done(state)

    def extents(self, *tiles: Array) -> tuple[int, int]:
        """Rows of the operand, columns of the weight."""
        x, weight = tiles
        return x.shape[0], weight.shape[0 if self.transpose else 1]

    def unit(
        self, lanes: int, tiles: Sequence[Tile], without_stops: Sequence[bool]
    ) -> matmul.Matmul | matvec.Matvec:
        """The matrix unit, or that of one row."""
        stops = not without_stops[1]
        return self._of_one_row(tiles, stops=stops) or self.matrix_unit(tiles, stops=stops)

    def _of_one_row(self, tiles: Sequence[Tile], *, stops: bool) -> matvec.Matvec | None:
        """The unit that weights stream through; None of other tiles."""
        if self.kept_because(tiles):
            return None
        k, n = self._weights(tiles)
        of, by = tiles[0].element, self.transpose
        dynamic = any(dim.static is None for dim in self._dims(tiles[1]))
        if dynamic and not stops:
            return None
        turned = of == bf16 and not by
        return matvec.Matvec(
            k, n, of.name, stops=stops, transposed=by, dynamic=dynamic, turned=turned
        )

    def fold_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """The unit that keeps the sums of a chunk: of one row, or the matrix unit for floats.

        Of other integers the accumulator of what `terms` makes.
        """
        tiles = [s.dtype for s in streams if isinstance(s.dtype, Tile)]
        unit = None if self.transpose else self._of_one_row(tiles, stops=True)
        if unit:
            most = self._most_tiles(streams) if unit.of_floats else 1
            return replace(unit, folds=True, start=self._begun(lanes, streams), tiles=most)
        return self._summing(lanes, streams) or super().fold_unit(lanes, streams, rank)

    def scan_unit(self, lanes: int, streams: Sequence[Stream], rank: int) -> UnitParams | None:
        """As `fold_unit`, with a unit that sends the sums after each tile."""
        summing = self._summing(lanes, streams)
        if summing is None:
            return super().scan_unit(lanes, streams, rank)
        return replace(summing, level=TILE_LEVELS + rank)

    def joins_dims(self, *tiles: Tile) -> bool:
        """Where the unit of products keeps the sums."""
        unit = None if self.transpose else self._of_one_row(tiles, stops=True)
        return unit is not None or self._in_matrix_unit(tiles)

    def _in_matrix_unit(self, tiles: Sequence[Tile]) -> bool:
        """Whether the matrix unit keeps the sums of a chunk: of floats, or of dynamic columns."""
        return tiles[0].element in (bf16, f32) or self._dims(tiles[1])[1].static is None

    def _summing(self, lanes: int, streams: Sequence[Stream]) -> matmul.Matmul | None:
        """The matrix unit that keeps sums, where one does."""
        tiles = [s.dtype for s in streams if isinstance(s.dtype, Tile)]
        state = tiles[-1]
        if not self._in_matrix_unit(tiles):
            return None
        rows = buffer_bound(f"the number of rows of {state}", [state.rows])
        return replace(
            self.matrix_unit(tiles, stops=True),
            rows=max(1, rows),
            fixed=state.rows.static is not None and state.cols.static is not None,
            tiles=self._most_tiles(streams),
            start=self._begun(lanes, streams),
        )

    def _most_tiles(self, streams: Sequence[Stream]) -> int:
        """Most tiles of a chunk; of f32 they are of no account."""
        most = product_bound(streams[0].shape[-streams[-1].node.attrs["rank"] :])
        x = streams[0].dtype
        assert isinstance(x, Tile)
        if most is None and x.element != f32:
            raise StepError(
                f"a circuit needs a bound for the number of tiles that it sums up, from which the "
                f"bits of sums follow, but chunks of {streams[0]} have none"
            )
        return max(1, most or 1)

    def _begun(self, lanes: int, streams: Sequence[Stream]) -> int:
        """Bit pattern of all sums before the first product."""
        x, state = streams[0].dtype, streams[-1].dtype
        assert isinstance(x, Tile)
        assert isinstance(state, Tile)
        at = Setting(state, numbers.DTYPES[state.element.name], lanes)
        start = self.start(at, 1, 1, streams[-1].node.attrs["init"])
        if x.element == bf16:
            start = Sums.of(start).rounded()
        return int.from_bytes(start.tobytes(), "little")

    def terms(self, lanes: int, tiles: Sequence[Tile]) -> matmul.Matmul | matvec.Matvec | None:
        """The unit of products, where another one sums them up, which is exact of integers.

        Raises
        ------
        StepError
            If there is no such unit.
        """
        if self._in_matrix_unit(tiles):
            return None
        return self._of_one_row(tiles, stops=True) or self.matrix_unit(tiles, stops=True)

    def lane(self, state: Lane, product: Lane) -> Lane:
        """One more product."""
        return state + product
