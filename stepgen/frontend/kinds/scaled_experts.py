"""Experts with weights of narrow integers, which scales make real numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stepgen.frontend.kind import Operands, Value
from stepgen.frontend.kinds.experts import Chosen, Experts, one_by_one
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.steps import (
    both,
    both_weights,
    counted,
    in_steps,
    inverse,
    made_real,
    scaled_sums,
)
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import int4, int8
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream

SCALED = ("gate", "up", "down")
"""Weights with scales; the router has real numbers."""


@dataclass(frozen=True)
class ScaledExperts(Experts):
    """As `Experts`, with gate, up and down of int8 and a scale for each of their columns.

    Weights beside those of `Experts`: gate_scale and up_scale [experts, hidden], down_scale
    [experts, width]. With step [1] and hidden_step [experts] rows of tokens, and what goes into
    down, become int8, the nearest number of steps, and products are sums of int32; the router has
    real numbers.

    Parameters
    ----------
    bits : {8, 4}
        Of a number of a weight in the memory of a program.
    """

    bits: int = 8

    needs = (*Experts.needs, *(f"{role}_scale" for role in SCALED))
    takes = ("step", "hidden_step")
    scaling = (*(f"{role}_scale" for role in SCALED), *takes)

    def result(self, given: Operands) -> Value:
        """Rows like the input."""
        if self.bits not in (8, 4):
            given.fail(f"its weights have 8 or 4 bits, not {self.bits}")
        given.element("int8", *SCALED)
        count, width, hidden = given.dims("gate", 3)
        for role, cols in zip(SCALED, (hidden, hidden, width), strict=True):
            given.expect(f"{role}_scale", count, cols)
        given.expect("step", 1)
        given.expect("hidden_step", count)
        if ("step" in given.weights) != ("hidden_step" in given.weights):
            given.fail("it needs both step and hidden_step, or none of them")
        if self.bits == 4 and width % 2:
            given.fail(f"numbers of 4 bits need rows of an even size, not of {width}")
        return super().result(given)

    def compute(  # type: ignore[override]
        self,
        at: OpRun,
        x: Array,
        step: Array | None = None,
        hidden_step: Array | None = None,
        **weights: Array,
    ) -> Array:
        """All tokens, expert by expert."""
        if step is None or hidden_step is None:
            real = {role: weights[role] * weights[f"{role}_scale"][:, None] for role in SCALED}
            return super().compute(at, x, router=weights["router"], **real)
        inner = hidden_step[:, None]
        steps = {"step": np.broadcast_to(step, inner.shape), "hidden_step": inner}
        return super().compute(at, x, **weights, **steps)

    def one(self, at: OpRun, x: Array, **own: Array) -> Array:  # type: ignore[override]
        """The golden model of one expert; with steps, as circuits compute it."""
        if "step" not in own:
            return super().one(at, x, **own)
        rows, scales = counted(at, x, own["step"]).array, _scales(own, both)
        gate, up = (scaled_sums(rows, own[r], scales[f"{r}_scale"]) for r in ("gate", "up"))
        hidden = counted(at, gate.map(self.fn).map(fn.mul(), up), own["hidden_step"])
        return scaled_sums(hidden.array, own["down"], scales["down_scale"]).array.astype(np.float64)

    def lower(  # type: ignore[override]
        self,
        at: Site,
        x: Rows,
        router: Weight,
        step: Weight | None = None,
        hidden_step: Weight | None = None,
        **weights: Weight,
    ) -> Rows:
        """By address: a column of a product is rounded once, and scaled."""
        if at.lowering.tiling != "address":
            at.fail("experts with scales are read by address: leave tiling out")
        at.because(
            f"a token reads its {self.top} experts by address, weights of int{self.bits} with a "
            "scale for each column"
        )
        factor, route, shares = self.choice(at, x, router)
        chosen = Chosen.of(at, route, self.top, weights["gate"])
        turned = {"gate": weights["gate"].T, "up": weights["up"].T, "down": weights["down"]}
        element = int4 if self.bits == 4 else int8
        tiles = {role: chosen.tiles(role, every, element) for role, every in turned.items()}
        if step is None or hidden_step is None:
            tiles = {role: self._real(at, every) for role, every in tiles.items()}
            rows = chosen.repeated(factor)
        else:
            at.because("rows in steps of int8, and sums of int32")
            counts = in_steps(at, "step", x.whole(), step).stream
            rows = chosen.repeated(one_by_one(at, counts))
            given = {**weights, "step": step, "hidden_step": hidden_step}
            weights |= _scales(given, partial(both_weights, at))
        real = _scaled if step is None else made_real
        scales = {role: chosen.rows(role, weights[role]) for role in ("gate_scale", "up_scale")}
        gated = real(rows.map(fn.matmul(transpose=True), tiles["gate"]), scales["gate_scale"])
        upped = real(rows.map(fn.matmul(transpose=True), tiles["up"]), scales["up_scale"])
        hidden = gated.map(self.fn).map(fn.mul(), upped)
        if hidden_step is None:
            hidden = at.factor(hidden)
        else:
            each = inverse(at, hidden_step).moved((*hidden_step.shape, 1), lambda a: a[..., None])
            factors = chosen.whole("hidden_step", each).promote(0).expand(count=chosen.count)
            hidden = hidden.map(fn.mul(), factors).map(fn.convert(int8))
        made = hidden.accum(fn.matmul(), tiles["down"], rank=1)
        down = chosen.whole("down_scale", weights["down_scale"])
        return self.total(at, real(made, down), shares)

    def _real(self, at: Site, tiles: Stream) -> Stream:
        return tiles.map(fn.convert(at.lowering.element))

    def bytes_of(self, role: str, element: str) -> float:
        """Half a byte for a number of 4 bits."""
        return self.bits / 8 if role in SCALED else super().bytes_of(role, element)


def _scaled(made: Any, scale: Any) -> Any:
    return made.map(fn.mul(), scale)


def _scales(weights: Mapping[str, Any], both: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """What 1 of the sums of each product stands for."""
    read = {"gate_scale": "step", "up_scale": "step", "down_scale": "hidden_step"}
    return {role: both(weights[role], weights[step]) for role, step in read.items()}
