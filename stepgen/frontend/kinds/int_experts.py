"""Experts in integers: linears of int8, the activation and the router's exponentials by tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stepgen.frontend.form import Form, Weights, real
from stepgen.frontend.integers import (
    SHARE,
    Numbers,
    moved,
    places_for,
    powers,
    products,
    quotients,
    results,
    tabulated,
)
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.experts import Chosen, Experts, one_by_one, together
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.functions.bases import Unary
from stepgen.ir.dtypes import int8, int16
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making

_INNER = (("gate", "int8"), ("up", "int16"), ("hidden", "int8"))
"""What is computed inside, and its element type."""


@dataclass(frozen=True, kw_only=True)
class IntExperts(Experts, Form):
    """Experts of int8 with a result of int16; all experts and layers share places.

    Parameters
    ----------
    top, fn, normalise
        As of experts.
    router, gate_weight, up_weight, down : int
        Places of the weights.
    gate, up, hidden : int
        Places of ``x @ gate`` as int8, of ``x @ up`` as int16, and of their product as int8.
    places : int
        Of the result.
    """

    router: int
    gate_weight: int
    up_weight: int
    down: int
    gate: int
    up: int
    hidden: int
    places: int

    of: ClassVar = Experts
    gives: ClassVar = ("int16",)

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("int8",)

    @classmethod
    def made(cls, making: Making) -> tuple[IntExperts, Weights]:
        """Weights with places of their own."""
        kind = making.op.kind
        assert isinstance(kind, Experts)
        own = {role: making.choice(role, making.most(role), "int8") for role in Experts.needs}
        inner = {what: making.choice(f"x @ {what}", making.noted(what), to) for what, to in _INNER}
        weights = {role: making.integers(role, "int8", places) for role, places in own.items()}
        made = cls(
            *(kind.top, kind.fn, kind.normalise),
            router=own["router"],
            gate_weight=own["gate"],
            up_weight=own["up"],
            down=own["down"],
            gate=inner["gate"],
            up=inner["up"],
            hidden=inner["hidden"],
            places=making.places,
        )
        return made, weights

    def result(self, given: Operands) -> Value:
        """Rows like the input."""
        given.integers(0, "int8", rank=2)
        given.element("int8", *self.needs)
        return super().result(real(given)).quantized("int16", self.places)

    def compute(self, at: OpRun, x: Array, **weights: Array) -> Array:  # type: ignore[override]
        """All tokens, expert by expert."""
        value = at.inputs[0]
        logits = products(x, weights["router"])
        chosen = np.argsort(-logits.astype(np.int64), -1, kind="stable")[:, : self.top]
        chosen.sort(-1)
        scores = Numbers(np.take_along_axis(logits, chosen, -1))
        shares = self._parts(scores, Numbers(logits), value).array
        pieces = np.zeros((*chosen.shape, x.shape[-1]), np.int16)
        for expert in np.unique(chosen):
            token, rank = np.nonzero(chosen == expert)
            rows = x[token]
            gate, up = (Numbers(products(rows, weights[r][expert])) for r in ("gate", "up"))
            hidden = self._hidden(gate, up, value).array
            down = Numbers(products(hidden, weights["down"][expert]))
            pieces[token, rank] = self._brought(down).array
        weighted = Numbers(pieces).map(fn.mul(), Numbers(shares[..., None]))
        total = Numbers(weighted.array.sum(1, dtype=np.int32))
        made: Numbers = total.map(moved(SHARE, 0, int16))
        return made.array

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, router: Weight, gate: Weight, up: Weight, down: Weight
    ) -> Rows:
        """As of experts; the chosen ones are read by their numbers."""
        if at.lowering.routed or at.lowering.tiling != "address":
            at.fail("experts of integers go by address, and choose by themselves")
        at.because(f"a token reads its {self.top} experts by address")
        value, x = at.inputs[0], x.whole()
        logits = one_by_one(
            at, at.columns("router", router, x, at.cut(router.shape[-1]), int8).whole().stream
        )
        read = Chosen.of(at, logits.map(fn.top_k(self.top)), self.top, gate)
        rows = read.repeated(one_by_one(at, x.stream))
        gated = rows.map(fn.matmul(transpose=True), read.tiles("gate", gate.T, int8))
        upped = rows.map(fn.matmul(transpose=True), read.tiles("up", up.T, int8))
        hidden = self._hidden(gated, upped, value)
        made = hidden.accum(fn.matmul(), read.tiles("down", down, int8), rank=1)
        share: Stream = self._parts(logits.map(fn.top_k_scores(self.top)), logits, value)
        share = share.flat_map(fn.retile_streamify("col"), rank=1)
        total = self._brought(made).map(fn.mul(), share).accum(fn.add(), rank=1)
        return Rows(together(at, total.map(moved(SHARE, 0, int16))))

    def _hidden(self, gate: Any, up: Any, x: Value) -> Any:
        """The product of both, of sums."""
        assert x.places is not None
        assert isinstance(self.fn, Unary)
        places = places_for(float(np.abs(results(self.fn, self.gate)).max()), "int16")
        low = gate.map(moved(x.places + self.gate_weight, self.gate, int8))
        high = up.map(moved(x.places + self.up_weight, self.up, int16))
        both = low.map(tabulated(self.fn, self.gate, "int16", places)).map(fn.mul(), high)
        return both.map(moved(places + self.up, self.hidden, int8))

    def _brought(self, down: Any) -> Any:
        """What an expert makes, of sums."""
        return down.map(moved(self.hidden + self.down, self.places, int16))

    def _parts(self, chosen: Any, every: Any, x: Value) -> Any:
        """The p of the chosen experts, of logits."""
        assert x.places is not None
        highest, scale = every.map(fn.row_max()), 2.0 ** -(x.places + self.router)

        def of(logits: Any) -> Any:
            return powers(logits.map(fn.sub(), highest), scale, int16, 1 << SHARE)

        top = of(chosen)
        total = (top if self.normalise else of(every)).map(fn.row_sum())
        return quotients(top, total, 2.0**SHARE, int16)
