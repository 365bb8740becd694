"""Linear with a weight of narrow integers that have places, and maybe rows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.frontend.integers import Numbers, products
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.places import counted, in_places
from stepgen.frontend.products import by_tiles, product
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sharing import Matrix
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import ElementType, f32, int4, int8, int32
from stepgen.ir.fn import fn


@dataclass(frozen=True)
class PlacedLinear(Kind):
    """``x @ (weight / 2**places) + bias``: weight [in, out] of int8, bias [out].

    Rows are real numbers. With places of their own they become int8, products are sums of int32,
    a bias of int32 is one of them, and each sum is rounded to f32 once. Places are those of all
    layers, so a circuit changes exponents by a constant and loads no scale.

    Parameters
    ----------
    bits : {8, 4}
        Of a number of the weight in the memory of a program.
    places : int
        Of the weight.
    rows : int or None
        Places of the rows, if they become int8.
    """

    bits: int = 8
    places: int = 0
    rows: int | None = None

    needs = ("weight",)
    takes = ("bias",)

    def result(self, given: Operands) -> Value:
        """A row of the outputs for each row."""
        if self.bits not in (8, 4):
            given.fail(f"its weight has 8 or 4 bits, not {self.bits}")
        given.element("int8", "weight")
        rows, cols = given.dims("weight", 2)
        if given.numbers(2).width != rows:
            given.fail(f"it takes rows of {rows}, not {given.x}")
        given.expect("bias", cols)
        if self.rows is not None:
            given.element("int32", "bias")
        if self.bits == 4 and rows % 2:
            given.fail(f"numbers of 4 bits need a weight of even rows, not of {rows}")
        return given.x.with_width(cols)

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, weight: Array, bias: Array | None = None
    ) -> Array:
        """All rows."""
        if self.rows is None:
            made = x @ np.ldexp(weight.astype(np.float64), -self.places)
            return np.asarray(made if bias is None else made + bias)
        sums = Numbers(products(counted(x, self.rows).array, weight))
        if bias is not None:
            sums = sums.map(fn.add(), Numbers(bias.astype(np.int32)))
        real: Numbers = self._real(sums)
        return real.array.astype(np.float64)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, weight: Weight, bias: Weight | None = None
    ) -> Rows:
        """By tiles of its weight, as a linear; of rows of real numbers by slices of columns."""
        at.because(f"weights of int{self.bits} with {self.places} places")
        if self.rows is None:
            return self._of_factors(at, x, weight, bias)
        at.because("rows of int8 with places, and sums of int32")
        x = in_places(at, x, self.rows)
        if self.bits == 4 and weight.shape[-1] % 2:
            x = x.whole()  # tiles of some rows and all columns have no bytes of two numbers
        made = product(at, "weight", weight, x, self._element)
        if bias is not None:
            made = made.map(fn.add(), at.load("bias", bias, (1, made.cols), int32).stream)
        return Rows(self._real(made.stream), made.slices)

    def matrix(  # type: ignore[override]
        self, at: Site, weight: Weight, bias: Weight | None = None
    ) -> Matrix | None:
        """Integers; those that become factors are not shared."""
        return None if self.rows is None else Matrix(weight, self._element)

    def _real(self, sums: Any) -> Any:
        assert self.rows is not None
        return sums.map(fn.convert(f32, places=self.rows + self.places))

    def _of_factors(self, at: Site, x: Rows, weight: Weight, bias: Weight | None) -> Rows:
        """Weights become factors as they pass, without an error in bf16."""
        inner, outer = weight.shape[-2:]
        cols = at.cut(outer)
        count = outer // cols
        stored = at.load("weight", by_tiles(weight, count, 1), (cols, inner), self._element)
        factors = stored.stream.map(fn.convert(at.lowering.element, places=self.places))
        made = at.factors(x).brought(inner, count).map(fn.matmul(transpose=True), factors)
        if bias is not None:
            made = made.map(fn.add(), at.load("bias", bias, (1, cols), f32).stream)
        return Rows(made, count)

    @property
    def _element(self) -> ElementType:
        return int4 if self.bits == 4 else int8

    def bytes_of(self, role: str, element: str) -> float:
        """Half a byte for a number of 4 bits."""
        return self.bits / 8 if role == "weight" else super().bytes_of(role, element)

    def flops(self, given: Operands, cached: int) -> int:
        """As of a linear."""
        return Linear().flops(given, cached)
