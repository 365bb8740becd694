"""Linear: rows times a matrix, and a bias."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.products import product
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sharing import Matrix
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import f32
from stepgen.ir.fn import fn


@dataclass(frozen=True)
class Linear(Kind):
    """``x @ weight + bias``: weight [in, out], bias [out].

    Parameters
    ----------
    transposed : bool
        Whether the weight is [out, in], as that of a head which is tied to the embedding.
    """

    transposed: bool = False

    needs = ("weight",)
    takes = ("bias",)

    def result(self, given: Operands) -> Value:
        """A row of the outputs for each row."""
        rows, cols = given.dims("weight", 2)
        if self.transposed:
            rows, cols = cols, rows
        if given.numbers(2).width != rows:
            given.fail(f"it takes rows of {rows}, not {given.x}")
        given.expect("bias", cols)
        return given.x.with_width(cols)

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, weight: Array, bias: Array | float = 0.0
    ) -> Array:
        """All rows."""
        at.note("x", x)
        return x @ (weight.T if self.transposed else weight) + bias

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, weight: Weight, bias: Weight | None = None
    ) -> Rows:
        """By tiles of its weight: of whole rows slices of columns, of slices whole rows."""
        made = product(at, "weight", weight.T if self.transposed else weight, x)
        if bias is None:
            return made
        return made.map(fn.add(), at.load("bias", bias, (1, made.cols), f32).stream)

    def matrix(self, at: Site, weight: Weight, bias: Weight | None = None) -> Matrix:  # type: ignore[override]
        """Real numbers."""
        return Matrix(weight.T if self.transposed else weight)

    def flops(self, given: Operands, cached: int) -> int:
        """2 for each element of the weight, 1 for one of the bias."""
        rows, cols = given.weights["weight"]
        return 2 * rows * cols + sum(given.weights.get("bias", ()))
