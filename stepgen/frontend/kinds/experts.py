"""Experts: a router chooses for each token the gated layers that it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...functions.bases import Unary
from ...ir.function import Function
from ..kind import Kind, Operands, Value
from ..run import Step
from ..weight import Array


@dataclass(frozen=True)
class Experts(Kind):
    """``sum(p[e] * (fn(x @ gate[e]) * (x @ up[e])) @ down[e])`` of the `top` largest p of a token.

    p is the softmax of ``x @ router``. Weights: router [width, experts], gate and up
    [experts, width, hidden], down [experts, hidden, width].

    Parameters
    ----------
    top : int
        Experts of a token.
    fn : Function
        Of one number, as ``fn.silu()``.
    normalise : bool
        Whether the chosen p are divided by their sum.
    """

    top: int
    fn: Function
    normalise: bool = True

    needs = ("router", "gate", "up", "down")

    def result(self, given: Operands) -> Value:
        """Rows like the input."""
        width = given.numbers(2).width
        _, count = given.dims("router", 2)
        *_, hidden = given.dims("gate", 3)
        for role, shape in (
            *(("router", (width, count)), ("gate", (count, width, hidden))),
            *(("up", (count, width, hidden)), ("down", (count, hidden, width))),
        ):
            given.expect(role, *shape)
        if not 1 <= self.top <= count:
            given.fail(f"a token can't go to {self.top} of {count} experts")
        if not isinstance(self.fn, Unary):
            given.fail(f"{self.fn} is no function of one number")
        return given.x

    def compute(self, at: Step, x: Array, **weights: Array) -> Array:  # type: ignore[override]
        """All tokens, expert by expert."""
        logits = x @ weights["router"]
        chosen = np.argsort(-logits, -1, kind="stable")[:, : self.top]
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        shares = np.take_along_axis(shares, chosen, 1)
        if self.normalise:
            shares /= shares.sum(-1, keepdims=True)
        act: Any = self.fn
        made = np.zeros_like(x)
        for expert in np.unique(chosen):
            token, rank = np.nonzero(chosen == expert)
            rows = x[token]
            hidden = act.exact(rows @ weights["gate"][expert]) * (rows @ weights["up"][expert])
            made[token] += shares[token, rank, None] * (hidden @ weights["down"][expert])
        return made

    def flops(self, given: Operands, cached: int) -> int:
        """The router, and the chosen experts."""
        width, count = given.weights["router"]
        hidden = given.weights["gate"][2]
        cost = getattr(self.fn, "cost", 1)
        each = 6 * width * hidden + (1 + cost) * hidden + 2 * width
        return 2 * width * count + 5 * count + self.top * each

    def touched(self, given: Operands) -> dict[str, int]:
        """The router, and the chosen experts."""
        sizes = super().touched(given)
        count = given.weights["router"][1]
        return {r: n if r == "router" else n // count * self.top for r, n in sizes.items()}
