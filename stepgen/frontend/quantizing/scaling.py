"""Weights of few bits: integers, and a scale for each column and group of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.scaled_experts import SCALED, ScaledExperts
from stepgen.frontend.kinds.scaled_linear import ScaledLinear
from stepgen.frontend.model import Model, Op, walk
from stepgen.frontend.passes.bodies import Body, rewritten
from stepgen.frontend.products import divisor
from stepgen.frontend.quantizing.ranges import Range, Ranges
from stepgen.frontend.quantizing.schemes import Schemes, Setting
from stepgen.frontend.steps import room
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.errors import StepError

SHARES = np.linspace(1.0, 0.6, 17)
"""Of the largest number of a group: what is beyond is cut off, if that makes the error smaller."""


class Narrow(Protocol):
    """A weight of few bits, beside the one of real numbers that it was."""

    @property
    def weight(self) -> Weight:
        """Of real numbers."""

    @property
    def bits(self) -> int:
        """Of a number."""

    @property
    def integers(self) -> Weight:
        """The integers, made when they are needed."""

    @property
    def bytes(self) -> int:
        """In memory, with scales."""

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise ratio in decibels."""


N = TypeVar("N", bound=Narrow)


@dataclass(frozen=True)
class Rounded:
    """A weight of real numbers [.., in, out] and what integers and scales make of it.

    Attributes
    ----------
    weight : Weight
    bits : {8, 4}
    rows : int
        That share a scale.
    least : Weight or None
        The smallest scale of each column [.., out], where sums must have room for a bias.
    """

    weight: Weight
    bits: int
    rows: int
    least: Weight | None = None

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """Integers [.., in, out] and scales [.., groups, out], of the least squares of errors."""
        *lead, inner, outer = self.weight.shape
        w = self.weight.numbers().astype(np.float64)
        w = w.reshape(*lead, inner // self.rows, self.rows, outer)
        most = 2 ** (self.bits - 1) - 1
        largest = np.abs(w).max(-2, keepdims=True)
        floor = 0.0 if self.least is None else self.least.numbers()[..., None, None, :]
        best, least = np.zeros_like(largest), np.full(largest.shape, np.inf)
        for share in SHARES:
            scale = np.maximum(largest * share / most, floor).astype(np.float32)
            scale = scale.astype(np.float64)
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
    def bytes(self) -> int:
        """In memory, with scales."""
        return self.weight.size * self.bits // 8 + self.scales.bytes

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise ratio in decibels."""
        w, (whole, scale) = self.weight.numbers().astype(np.float64), self.arrays
        noise = np.square(whole * np.repeat(scale, self.rows, -2) - w).sum()
        return float(10 * np.log10(np.square(w).sum() / noise)) if noise else float("inf")


@dataclass
class Scaled(ABC, Generic[N]):
    """A model on its way to weights of few bits, with scales or with places.

    Parameters
    ----------
    model : Model
        As `stepgen.frontend.quantizing.preparing.prepared` gives it.
    schemes : Schemes
    ranges : Ranges or None
        Of the values that get steps.

    Attributes
    ----------
    made : Model
    weights : dict of str to Narrow
        By what has them, in order.
    steps : dict of str to list of Range
        By what reads the values, in order.

    Raises
    ------
    StepError
        If there are no such weights, no operation fits a pattern, or 4 bits are asked for where
        rows are odd.
    """

    model: Model
    schemes: Schemes
    ranges: Ranges | None
    weights: dict[str, N] = field(default_factory=dict)
    steps: dict[str, list[Range]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen: list[str] = []

        def rewrite(body: Body) -> None:
            for op in [*body.ops]:
                if not body.alone(op) or type(op.kind) not in (Linear, Experts):
                    continue
                seen.append(op.name)
                setting = self.schemes.of(op)
                if setting is not None:
                    narrow = self.linear if isinstance(op.kind, Linear) else self.experts
                    body.put(op, narrow(body, op, setting))

        self.made = rewritten(self.model, rewrite)
        order = [op.name for op in walk(self.made.ops)]
        self.schemes.check(sorted(seen, key=order.index))
        if not self.weights:
            raise StepError(f"{self.model.name} has no linear, whose weights could get fewer bits")

        def place(one: tuple[str, Any]) -> int:
            return order.index(one[0].split(":")[0])

        self.weights = dict(sorted(self.weights.items(), key=place))
        self.steps = dict(sorted(self.steps.items(), key=place))

    @abstractmethod
    def linear(self, body: Body, op: Op, setting: Setting) -> Op:
        """A linear with a narrow weight."""

    @abstractmethod
    def experts(self, body: Body, op: Op, setting: Setting) -> Op:
        """Experts with narrow weights."""

    def ranges_of(self, op: Op, what: str, *, powers: bool = False) -> list[Range]:
        """The ranges of what an operation reads, in each layer."""
        assert self.ranges is not None
        name = f"{op.name}:{what}"
        found = self.ranges.of(name, powers=powers)
        self.steps[op.name if what == "x" else name] = found
        return found


@dataclass
class Scaling(Scaled[Rounded]):
    """With scales: those of weights for columns, those of values for layers.

    Parameters
    ----------
    group : int or None
        Most rows that share a scale, where they divide those of a linear's weight evenly; by
        default, and in experts, all.
    """

    group: int | None = field(default=None, kw_only=True)

    def linear(self, body: Body, op: Op, setting: Setting) -> Op:
        """A linear with a narrow weight."""
        assert isinstance(op.kind, Linear)
        own = body.of(op)
        weight = own["weight"].T if op.kind.transposed else own["weight"]
        rounded = _rounded(op, weight, setting.bits, self.group)
        made = dict(own)
        if setting.values:
            made["step"] = self._step(op, "x", weight.shape[:-2])
            if "bias" in own and rounded.rows == weight.shape[-2]:
                rounded = replace(rounded, least=room(own["bias"], made["step"]))
        self.weights[op.name] = rounded
        made |= {"weight": rounded.integers, "scale": rounded.scales}
        return body.reweigh(op, made, ScaledLinear(setting.bits))

    def experts(self, body: Body, op: Op, setting: Setting) -> Op:
        """Experts with narrow weights, and a scale for each column."""
        kind, own = op.kind, body.of(op)
        assert isinstance(kind, Experts)
        *lead, count, _, _ = own["gate"].shape
        for role in SCALED:
            name = f"{op.name}:{role}"
            self.weights[name] = rounded = _rounded(op, own[role], setting.bits, None)
            own[role] = rounded.integers
            *rest, _, cols = rounded.scales.shape
            own[f"{role}_scale"] = rounded.scales.moved((*rest, cols), lambda a: a[..., 0, :])
        if setting.values:
            own["step"] = self._step(op, "x", lead)
            hidden = self._step(op, "hidden", lead)
            own["hidden_step"] = hidden.moved((*lead, count), lambda a: np.repeat(a, count, -1))
        made = ScaledExperts(kind.top, kind.fn, kind.normalise, setting.bits)
        return body.reweigh(op, own, made)

    def _step(self, op: Op, what: str, layers: Sequence[int]) -> Weight:
        """The steps of what an operation reads, one of each layer."""
        steps = np.array([one.step for one in self.ranges_of(op, what)], np.float32)
        return Weight.of(steps.reshape(*layers, 1))


def _rounded(op: Op, weight: Weight, bits: int, group: int | None) -> Rounded:
    """A weight [.., in, out] of an operation with a scale for a column and so many rows."""
    rows, pairs = weight.shape[-2], check_pairs(op, weight, bits)
    return Rounded(weight, bits, pairs * divisor(rows // pairs, max(1, (group or rows) // pairs)))


def check_pairs(op: Op, weight: Weight, bits: int) -> int:
    """How many numbers of a column are whole bytes; they must divide its rows."""
    rows, pairs = weight.shape[-2], 2 if bits == 4 else 1  # of numbers of 4 bits two are a byte
    if rows % pairs:
        raise StepError(f"{op.where}: its weight has {rows} rows, an odd number: take 8 bits")
    return pairs
