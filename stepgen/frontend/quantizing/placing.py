"""Weights of few bits with places: powers of two for scales, the same in all layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from stepgen.frontend.kinds.experts import Experts
from stepgen.frontend.kinds.linear import Linear
from stepgen.frontend.kinds.placed_experts import PlacedExperts
from stepgen.frontend.kinds.placed_linear import PlacedLinear
from stepgen.frontend.model import Op
from stepgen.frontend.passes.bodies import Body
from stepgen.frontend.quantizing.scaling import Scaled, check_pairs
from stepgen.frontend.quantizing.schemes import Setting
from stepgen.frontend.weight import Array, Weight

MOST: Final = 32
"""Places of a weight or a value: at most so many, or short of so many."""

ROOM: Final = 30
"""Bits of a sum that a bias may take."""


@dataclass(frozen=True)
class PlacedWeight:
    """A weight of real numbers [.., in, out], and what integers with places make of it.

    Attributes
    ----------
    weight : Weight
    bits : {8, 4}
    most : int
        Places that it may have.
    """

    weight: Weight
    bits: int
    most: int = MOST

    @cached_property
    def places(self) -> int:
        """Those with the least squares of errors, where some numbers may be cut off."""
        w = self.weight.numbers().astype(np.float64)
        largest, most = float(np.abs(w).max(initial=0.0)), 2 ** (self.bits - 1) - 1
        if not largest:
            return min(0, self.most)
        whole = math.floor(math.log2(most / largest))
        tried = (max(-MOST, min(whole + more, self.most)) for more in range(3))
        return min(tried, key=lambda places: float(np.square(self._error(w, places)).sum()))

    def _error(self, w: Array, places: int) -> Array:
        return np.ldexp(self._whole(w, places), -places) - w

    def _whole(self, w: Array, places: int) -> Array:
        most = 2 ** (self.bits - 1) - 1
        return np.clip(np.rint(np.ldexp(w, places)), -most, most)

    @property
    def integers(self) -> Weight:
        """The integers, made when they are needed."""

        def read() -> Array:
            w = self.weight.numbers().astype(np.float64)
            return self._whole(w, self.places).astype(np.int8)

        return Weight(self.weight.shape, "int8", read)

    @property
    def bytes(self) -> int:
        """In memory."""
        return self.weight.size * self.bits // 8

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise ratio in decibels."""
        w = self.weight.numbers().astype(np.float64)
        noise = np.square(self._error(w, self.places)).sum()
        return float(10 * np.log10(np.square(w).sum() / noise)) if noise else float("inf")


@dataclass
class Placing(Scaled[PlacedWeight]):
    """As `Scaled`, with places of weights and values in the operations: nothing is loaded."""

    def linear(self, body: Body, op: Op, setting: Setting) -> Op:
        """A linear with a narrow weight."""
        assert isinstance(op.kind, Linear)
        own = body.of(op)
        weight = own["weight"].T if op.kind.transposed else own["weight"]
        check_pairs(op, weight, setting.bits)
        rows, most = self._places(op, "x", setting), MOST
        bias = own.get("bias")
        if bias is not None and rows is not None:
            largest = float(np.abs(bias.numbers().astype(np.float64)).max(initial=0.0))
            if largest:
                most = min(MOST, ROOM - rows - math.ceil(math.log2(largest)))
        self.weights[op.name] = placed = PlacedWeight(weight, setting.bits, most)
        own["weight"] = placed.integers
        if bias is not None and rows is not None:
            own["bias"] = _as_sums(bias, rows + placed.places)
        return body.reweigh(op, own, PlacedLinear(setting.bits, placed.places, rows))

    def experts(self, body: Body, op: Op, setting: Setting) -> Op:
        """Experts with narrow weights."""
        kind, own = op.kind, body.of(op)
        assert isinstance(kind, Experts)
        places = {}
        for role in ("gate", "up", "down"):
            check_pairs(op, own[role], setting.bits)
            self.weights[f"{op.name}:{role}"] = placed = PlacedWeight(own[role], setting.bits)
            own[role], places[role] = placed.integers, placed.places
        made = PlacedExperts(
            *(kind.top, kind.fn, kind.normalise, setting.bits),
            gate=places["gate"],
            up=places["up"],
            down=places["down"],
            rows=self._places(op, "x", setting),
            hidden=self._places(op, "hidden", setting),
        )
        return body.reweigh(op, own, made)

    def _places(self, op: Op, what: str, setting: Setting) -> int | None:
        """The places of what an operation reads, if it becomes int8."""
        if not setting.values:
            return None
        step = self.ranges_of(op, what, powers=True)[0].step
        return -round(math.log2(step))


def _as_sums(bias: Weight, places: int) -> Weight:
    """A bias of real numbers as one of the sums."""

    def read() -> Array:
        exact = np.rint(np.ldexp(bias.numbers().astype(np.float64), places))
        return exact.clip(-(2.0**31), 2.0**31 - 1).astype(np.int32)

    return Weight(bias.shape, "int32", read)
