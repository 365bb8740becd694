"""Norm: rows, or heads of rows, of variance 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import f32
from stepgen.ir.fn import fn


@dataclass(frozen=True)
class Norm(Kind):
    """``z / sqrt(mean(z * z) + eps) * weight + bias`` of the last dim.

    Parameters
    ----------
    how : {"rms", "layer"}
        z is x, or x less its mean.
    eps : float
    """

    how: Literal["rms", "layer"]
    eps: float

    takes = ("weight", "bias")

    def result(self, given: Operands) -> Value:
        """A value like the input."""
        width = given.numbers().width
        given.expect("weight", width)
        given.expect("bias", width)
        return given.x

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, weight: Array | float = 1.0, bias: Array | float = 0.0
    ) -> Array:
        """All rows."""
        z, root = self.parts(x)
        at.note("root", 1 / root)
        return np.asarray(z / root * weight + bias)

    def parts(self, x: Array) -> tuple[Array, Array]:
        """Rows without their mean, of a layer norm, and the root that they are divided by."""
        z: Array = x if self.how == "rms" else x - x.mean(-1, keepdims=True)
        return z, np.sqrt(np.square(z).mean(-1, keepdims=True) + self.eps)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, weight: Weight | None = None, bias: Weight | None = None
    ) -> Rows:
        """Of whole rows or of heads, in f32."""
        made = x if at.heads else x.whole()
        part = 1 / made.cols
        if self.how == "layer":
            mean = made.map(fn.row_sum()).map(fn.scale(part))
            made = made.map(fn.sub(), mean.stream)
        squares = made.map(fn.square()).map(fn.row_sum()).map(fn.scale(part))
        made = made.map(fn.mul(), squares.map(fn.offset(self.eps)).map(fn.rsqrt()).stream)
        for role, function, given in (("weight", fn.mul(), weight), ("bias", fn.add(), bias)):
            if given is not None:
                made = made.each(function, at.load(role, given, (1, made.cols), f32).stream)
        return made

    def flops(self, given: Operands, cached: int) -> int:
        """3 for each number, 2 more for one less its mean, 1 for each weight, 5 for each root."""
        shape = [n for n in given.x.shape if isinstance(n, int)]
        numbers = int(np.prod(shape))
        each = 3 + 2 * (self.how == "layer") + len(given.weights)
        return each * numbers + 5 * numbers // given.x.width
