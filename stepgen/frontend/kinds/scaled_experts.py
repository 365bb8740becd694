"""Experts with weights of narrow integers, which scales make real numbers."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.dtypes import int4, int8
from ...ir.fn import fn
from ...ir.stream import Stream
from ..kind import Operands, Value
from ..rows import Rows
from ..run import Step
from ..site import Site
from ..weight import Array, Weight
from .experts import Chosen, Experts

SCALED = ("gate", "up", "down")
"""Weights with scales; the router has real numbers."""


@dataclass(frozen=True)
class ScaledExperts(Experts):
    """As `Experts`, with gate, up and down of int8 and a scale for each of their columns.

    Weights beside those of `Experts`: gate_scale and up_scale [experts, hidden], down_scale
    [experts, width].

    Parameters
    ----------
    bits : {8, 4}
        Of a number of a weight in the memory of a program.
    """

    bits: int = 8

    needs = (*Experts.needs, *(f"{role}_scale" for role in SCALED))

    def result(self, given: Operands) -> Value:
        """Rows like the input."""
        if self.bits not in (8, 4):
            given.fail(f"its weights have 8 or 4 bits, not {self.bits}")
        given.element("int8", *SCALED)
        count, width, hidden = given.dims("gate", 3)
        for role, cols in zip(SCALED, (hidden, hidden, width), strict=True):
            given.expect(f"{role}_scale", count, cols)
        if self.bits == 4 and width % 2:
            given.fail(f"numbers of 4 bits need rows of an even size, not of {width}")
        return super().result(given)

    def compute(self, at: Step, x: Array, **weights: Array) -> Array:  # type: ignore[override]
        """All tokens, expert by expert."""
        real = {role: weights[role] * weights[f"{role}_scale"][:, None] for role in SCALED}
        return super().compute(at, x, router=weights["router"], **real)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, router: Weight, **weights: Weight
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
        tiles = {
            role: self._real(at, chosen.tiles(role, every, element))
            for role, every in turned.items()
        }
        scales = {role: chosen.rows(role, weights[role]) for role in ("gate_scale", "up_scale")}
        rows = chosen.repeated(factor)
        gated = rows.map(fn.matmul(transpose=True), tiles["gate"])
        gated = gated.map(fn.mul(), scales["gate_scale"]).map(self.fn)
        upped = rows.map(fn.matmul(transpose=True), tiles["up"]).map(fn.mul(), scales["up_scale"])
        made = at.factor(gated.map(fn.mul(), upped)).accum(fn.matmul(), tiles["down"], rank=1)
        return self.total(
            at, made.map(fn.mul(), chosen.whole("down_scale", weights["down_scale"])), shares
        )

    def _real(self, at: Site, tiles: Stream) -> Stream:
        return tiles.map(fn.convert(at.lowering.element))

    def bytes_of(self, role: str, element: str) -> float:
        """Half a byte for a number of 4 bits."""
        return self.bits / 8 if role in SCALED else super().bytes_of(role, element)
