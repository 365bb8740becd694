"""RMS norm in integers: a sum of squares in int32, and its reciprocal root as a factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stepgen.frontend.form import Form, Weights
from stepgen.frontend.integers import Numbers, moved
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.norm import Norm
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array
from stepgen.ir.dtypes import bf16, int16, int32
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True)
class IntNorm(Form):
    """``x / sqrt(mean(x * x) + eps)`` of the last dim of int16; the root is made in bf16.

    Parameters
    ----------
    eps : float
    root : int
        Places of the reciprocal root, which is an int16.
    to : {"int8", "int16"}
        Element type of the result.
    places : int
        Of the result.
    """

    eps: float
    root: int
    to: Literal["int8", "int16"]
    places: int

    of: ClassVar = Norm
    gives: ClassVar = ("int8", "int16")

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("int16",)

    @classmethod
    def made(cls, making: Making) -> tuple[IntNorm, Weights]:
        """Norms without weights: those before linears have none any more."""
        kind = making.op.kind
        assert isinstance(kind, Norm)
        if kind.how != "rms":
            making.fail("it takes the root of a mean of squares, not of a variance")
        if making.op.weights:
            making.fail("its weight can't go into the linears behind it")
        root = making.choice("root", making.noted("root"), "int16")
        return cls(kind.eps, root, making.element, making.places), {}

    def result(self, given: Operands) -> Value:
        """A value like the input."""
        return given.integers(0, "int16").quantized(self.to, self.places)

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """All rows."""
        made: Numbers = self._normed(Numbers(x), x.shape[-1], at.inputs[0])
        return made.array

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """Of whole rows or of heads."""
        x = x if at.heads else x.whole()
        return Rows(self._normed(x.stream, x.cols, at.inputs[0]), x.slices)

    def _normed(self, x: Any, width: int, value: Value) -> Any:
        assert value.places is not None
        # With so many bits less the sum of squares never overflows.
        less = math.floor((math.log2(width) - 1) / 2) + 1
        low = x.map(fn.convert(int32)).map(moved(less, 0, int16))
        total = low.map(fn.square()).map(fn.row_sum()).map(fn.convert(bf16))
        unit = 4.0**-self.root
        mean = total.map(fn.scale(4.0 ** (less - value.places) / width * unit))
        root = mean.map(fn.offset(self.eps * unit)).map(fn.rsqrt()).map(fn.convert(int16))
        return x.map(fn.mul(), root).map(moved(value.places + self.root, self.places, self.to))

    def flops(self, given: Operands, cached: int) -> int:
        """As of a norm."""
        return Norm("rms", self.eps).flops(given, cached)
