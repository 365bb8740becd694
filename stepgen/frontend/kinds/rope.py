"""RoPE: pairs of columns turned by an angle that grows with the position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..kind import Kind, Operands, Value
from ..run import Step
from ..weight import Array


@dataclass(frozen=True)
class Rope(Kind):
    """Heads [T, heads, width] turned by ``positions * frequencies``, times a factor.

    Its inputs are the heads and the positions; the weight ``frequencies`` has half the width.

    Parameters
    ----------
    pairs : {"halves", "neighbours"}
        Column j is turned with column j + width/2, or column 2j with 2j + 1.
    factor : float
        Of the results, as some models with a longer context have.
    """

    pairs: Literal["halves", "neighbours"]
    factor: float = 1.0

    arity = 2
    needs = ("frequencies",)

    def result(self, given: Operands) -> Value:
        """Heads like the input."""
        width = given.numbers(3).width
        if width % 2:
            given.fail(f"it turns pairs of columns, not {width} of them")
        given.expect("frequencies", width // 2)
        positions = given.values[1]
        if positions.element != "int32":
            given.fail(f"its positions are int32[T], not {positions}")
        return given.x

    def compute(  # type: ignore[override]
        self, at: Step, x: Array, positions: Array, frequencies: Array
    ) -> Array:
        """All heads."""
        angle = (positions[:, None] * frequencies)[:, None]
        cos, sin = np.cos(angle) * self.factor, np.sin(angle) * self.factor
        if self.pairs == "halves":
            a, b = np.split(x, 2, -1)
            return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)

    def flops(self, given: Operands, cached: int) -> int:
        """3 for each number: cosines and sines are tables."""
        _, heads, width = given.x.shape
        return 3 * int(heads) * int(width)
