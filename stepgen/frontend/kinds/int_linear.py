"""Linear in integers: rows of int8 times a matrix of int8, with sums of int32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stepgen.frontend.form import Form, Weights
from stepgen.frontend.integers import Numbers, moved, products
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.products import product
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sharing import Matrix
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import int8, int32
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True)
class IntLinear(Form):
    """``x @ weight + bias``: weight [in, out] of int8, bias [out] of int32 with the sums' places.

    Parameters
    ----------
    weight : int
        Places of the weight.
    to : {"int8", "int16", "int32"}
        Element type of the result; int32 are the sums.
    places : int
        Of the result.
    """

    weight: int
    to: Literal["int8", "int16", "int32"]
    places: int

    of: ClassVar = Linear
    needs = ("weight",)
    takes = ("bias",)
    gives: ClassVar = ("int8", "int16", "int32")

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("int8",)

    @classmethod
    def made(cls, making: Making) -> tuple[IntLinear, Weights]:
        """A weight with places of its own, a bias with those of the sums."""
        kind = making.op.kind
        assert isinstance(kind, Linear)
        places = making.choice("weight", making.most("weight"), "int8")
        sums = (making.inputs[0].places or 0) + places
        weights = {"weight": making.integers("weight", "int8", places, turned=kind.transposed)}
        if "bias" in making.op.weights:
            weights["bias"] = making.integers("bias", "int32", sums)
        to = making.element
        return cls(places, to, sums if to == "int32" else making.places), weights

    def result(self, given: Operands) -> Value:
        """A row of the outputs for each row."""
        given.element("int8", "weight")
        given.element("int32", "bias")
        rows, cols = given.dims("weight", 2)
        x = given.integers(0, "int8", rank=2)
        if x.width != rows:
            given.fail(f"it takes rows of {rows}, not {x}")
        given.expect("bias", cols)
        if self.to == "int32" and self.places != self._sums(x):
            given.fail(f"its sums have {self._sums(x)} places, not {self.places}")
        return x.with_width(cols).quantized(self.to, self.places)

    def _sums(self, x: Value) -> int:
        assert x.places is not None
        return x.places + self.weight

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, weight: Array, bias: Array | None = None
    ) -> Array:
        """All rows."""
        sums = Numbers(products(x, weight))
        if bias is not None:
            sums = sums.map(fn.add(), Numbers(bias))
        made: Numbers = self._ended(sums, at.inputs[0])
        return made.array

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, weight: Weight, bias: Weight | None = None
    ) -> Rows:
        """By tiles of its weight: of whole rows slices of columns, of slices whole rows."""
        made = product(at, "weight", weight, x, int8)
        if bias is not None:
            made = made.map(fn.add(), at.load("bias", bias, (1, made.cols), int32).stream)
        return Rows(self._ended(made.stream, at.inputs[0]), made.slices)

    def matrix(self, at: Site, weight: Weight, bias: Weight | None = None) -> Matrix:  # type: ignore[override]
        """Integers."""
        return Matrix(weight, int8)

    def _ended(self, sums: Any, x: Value) -> Any:
        if self.to == "int32":
            return sums
        return sums.map(moved(self._sums(x), self.places, self.to))

    def flops(self, given: Operands, cached: int) -> int:
        """As of a linear."""
        return Linear().flops(given, cached)
