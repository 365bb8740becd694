"""Norm: rows, or heads of rows, of variance 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..kind import Kind, Operands, Value
from ..run import Step
from ..weight import Array


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
        self, at: Step, x: Array, weight: Array | float = 1.0, bias: Array | float = 0.0
    ) -> Array:
        """All rows."""
        z: Array = x if self.how == "rms" else x - x.mean(-1, keepdims=True)
        root = np.sqrt(np.square(z).mean(-1, keepdims=True) + self.eps)
        return np.asarray(z / root * weight + bias)

    def flops(self, given: Operands, cached: int) -> int:
        """3 for each number, 2 more for one less its mean, 1 for each weight, 5 for each root."""
        shape = [n for n in given.x.shape if isinstance(n, int)]
        numbers = int(np.prod(shape))
        each = 3 + 2 * (self.how == "layer") + len(given.weights)
        return each * numbers + 5 * numbers // given.x.width
