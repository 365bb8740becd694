"""Weights of few bits: integers, and a scale for each column and group of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...ir.errors import StepError
from ..kinds.experts import Experts
from ..kinds.linear import Linear
from ..kinds.scaled_experts import SCALED, ScaledExperts
from ..kinds.scaled_linear import ScaledLinear
from ..model import Model, Op, walk
from ..passes.bodies import Body, rewritten
from ..products import divisor
from ..weight import Array, Weight

SHARES = np.linspace(1.0, 0.6, 17)
"""Of the largest number of a group: what is beyond is cut off, if that makes the error smaller."""


@dataclass(frozen=True)
class Rounded:
    """A weight of real numbers [.., in, out] and what integers and scales make of it.

    Attributes
    ----------
    weight : Weight
    bits : {8, 4}
    rows : int
        That share a scale.
    """

    weight: Weight
    bits: int
    rows: int

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """Integers [.., in, out] and scales [.., groups, out], of the least squares of errors."""
        *lead, inner, outer = self.weight.shape
        w = self.weight.numbers().astype(np.float64)
        w = w.reshape(*lead, inner // self.rows, self.rows, outer)
        most = 2 ** (self.bits - 1) - 1
        largest = np.abs(w).max(-2, keepdims=True)
        best, least = np.zeros_like(largest), np.full(largest.shape, np.inf)
        for share in SHARES:
            scale = (largest * share / most).astype(np.float32).astype(np.float64)
            step = np.where(scale > 0, scale, 1)
            error = np.square(np.clip(np.rint(w / step), -most, most) * step - w)
            error = error.sum(-2, keepdims=True)
            best, least = np.where(error < least, scale, best), np.minimum(error, least)
        step = np.where(best > 0, best, 1)
        whole = np.clip(np.rint(w / step), -most, most).astype(np.int8)
        return whole.reshape(self.weight.shape), best.squeeze(-2).astype(np.float32)

    @property
    def integers(self) -> Weight:
        """The integers, made when they are needed."""
        return Weight(self.weight.shape, "int8", lambda: self.arrays[0])

    @property
    def scales(self) -> Weight:
        """The scales, made when they are needed."""
        *lead, inner, outer = self.weight.shape
        return Weight((*lead, inner // self.rows, outer), "f32", lambda: self.arrays[1])

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise ratio in decibels."""
        w, (whole, scale) = self.weight.numbers().astype(np.float64), self.arrays
        noise = np.square(whole * np.repeat(scale, self.rows, -2) - w).sum()
        return float(10 * np.log10(np.square(w).sum() / noise)) if noise else float("inf")


def scaled(model: Model, bits: int, group: int | None) -> tuple[Model, dict[str, Rounded]]:
    """The model with narrow weights of linears and experts, and these by what has them.

    Parameters
    ----------
    model : Model
        As `stepgen.frontend.quantizing.preparing.prepared` gives it.
    bits : {8, 4}
    group : int or None
        Most rows that share a scale, where they divide those of a linear's weight evenly; by
        default, and in experts, all.

    Raises
    ------
    StepError
        If there are no such weights, or 4 bits are asked for where rows are odd.
    """
    made: dict[str, Rounded] = {}

    def rewrite(body: Body) -> None:
        for op in [*body.ops]:
            if not body.alone(op):
                continue
            if isinstance(op.kind, Linear):
                body.put(op, _linear(body, op, bits, group, made))
            elif type(op.kind) is Experts:
                body.put(op, _experts(body, op, bits, made))

    changed = rewritten(model, rewrite)
    if not made:
        raise StepError(f"{model.name} has no linear, whose weights could get fewer bits")
    order = [op.name for op in walk(changed.ops)]
    return changed, dict(sorted(made.items(), key=lambda one: order.index(one[0].split(":")[0])))


def _linear(body: Body, op: Op, bits: int, group: int | None, made: dict[str, Rounded]) -> Op:
    """A linear with a narrow weight."""
    assert isinstance(op.kind, Linear)
    own = body.of(op)
    weight = own["weight"].T if op.kind.transposed else own["weight"]
    made[op.name] = rounded = _rounded(op, weight, bits, group)
    narrow = {"weight": rounded.integers, "scale": rounded.scales}
    bias = {"bias": own["bias"]} if "bias" in own else {}
    return body.reweigh(op, narrow | bias, ScaledLinear(bits))


def _experts(body: Body, op: Op, bits: int, made: dict[str, Rounded]) -> Op:
    """Experts with narrow weights, and a scale for each column."""
    kind, own = op.kind, body.of(op)
    assert isinstance(kind, Experts)
    for role in SCALED:
        made[f"{op.name}:{role}"] = rounded = _rounded(op, own[role], bits, None)
        own[role] = rounded.integers
        *lead, _, cols = rounded.scales.shape
        own[f"{role}_scale"] = rounded.scales.moved((*lead, cols), lambda a: a[..., 0, :])
    return body.reweigh(op, own, ScaledExperts(kind.top, kind.fn, kind.normalise, bits))


def _rounded(op: Op, weight: Weight, bits: int, group: int | None) -> Rounded:
    """A weight [.., in, out] of an operation with a scale for a column and so many rows."""
    rows, pairs = weight.shape[-2], 2 if bits == 4 else 1  # of numbers of 4 bits two are a byte
    if rows % pairs:
        raise StepError(f"{op.where}: its weight has {rows} rows, an odd number: take w8")
    return Rounded(weight, bits, pairs * divisor(rows // pairs, max(1, (group or rows) // pairs)))
