"""Experts with weights of narrow integers that have places, and maybe rows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.frontend.integers import Numbers, products
from stepgen.frontend.kind import Operands, Value
from stepgen.frontend.kinds.experts import Chosen, Experts, one_by_one
from stepgen.frontend.places import counted, in_places
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import f32, int4, int8
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream


@dataclass(frozen=True)
class PlacedExperts(Experts):
    """As `Experts`, with gate, up and down of int8 with places, those of all experts and layers.

    With places for rows, tokens and what goes into down become int8, and products are sums of
    int32; the router has real numbers.

    Parameters
    ----------
    bits : {8, 4}
        Of a number of a weight in the memory of a program.
    gate, up, down : int
        Places of the weights.
    rows, hidden : int or None
        Places of tokens and of what goes into down, if they become int8.
    """

    bits: int = 8
    gate: int = 0
    up: int = 0
    down: int = 0
    rows: int | None = None
    hidden: int | None = None

    def result(self, given: Operands) -> Value:
        """Rows like the input."""
        if self.bits not in (8, 4):
            given.fail(f"its weights have 8 or 4 bits, not {self.bits}")
        given.element("int8", "gate", "up", "down")
        _, width, _ = given.dims("gate", 3)
        if (self.rows is None) != (self.hidden is None):
            given.fail("it needs places of both rows and hidden, or of none of them")
        if self.bits == 4 and width % 2:
            given.fail(f"numbers of 4 bits need rows of an even size, not of {width}")
        return super().result(given)

    def one(self, at: OpRun, x: Array, gate: Array, up: Array, down: Array) -> Array:
        """The golden model of one expert; with places of rows, as circuits compute it."""
        if self.rows is None or self.hidden is None:
            weights = {"gate": gate, "up": up, "down": down}
            real = {
                role: np.ldexp(weight.astype(np.float64), -getattr(self, role))
                for role, weight in weights.items()
            }
            return super().one(at, x, **real)
        rows = counted(x, self.rows).array
        gated, upped = (
            self._real(Numbers(products(rows, weight)), self.rows + places)
            for weight, places in ((gate, self.gate), (up, self.up))
        )
        hidden = counted(gated.map(self.fn).map(fn.mul(), upped), self.hidden).array
        made: Numbers = self._real(Numbers(products(hidden, down)), self.hidden + self.down)
        return made.array.astype(np.float64)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, router: Weight, gate: Weight, up: Weight, down: Weight
    ) -> Rows:
        """By address: weights become factors as they pass, or rows become int8."""
        if at.lowering.tiling != "address":
            at.fail("experts with weights of int8 are read by address: leave tiling out")
        at.because(
            f"a token reads its {self.top} experts by address, weights of int{self.bits} with "
            "places"
        )
        factor, route, shares = self.choice(at, x, router)
        chosen = Chosen.of(at, route, self.top, gate)
        element = int4 if self.bits == 4 else int8
        turned = {"gate": gate.T, "up": up.T, "down": down}
        tiles = {role: chosen.tiles(role, every, element) for role, every in turned.items()}
        if self.rows is None or self.hidden is None:
            real = {
                role: every.map(fn.convert(at.lowering.element, places=getattr(self, role)))
                for role, every in tiles.items()
            }
            return self.total(at, self._expert(at, chosen.repeated(factor), real), shares)
        at.because("rows of int8 with places, and sums of int32")
        counts = in_places(at, x.whole(), self.rows).stream
        rows = chosen.repeated(one_by_one(at, counts))
        gated, upped = (
            self._product(rows, tiles[role], self.rows + places)
            for role, places in (("gate", self.gate), ("up", self.up))
        )
        hidden = gated.map(self.fn).map(fn.mul(), upped).map(fn.convert(int8, places=self.hidden))
        made = hidden.accum(fn.matmul(), tiles["down"], rank=1)
        return self.total(at, self._real(made, self.hidden + self.down), shares)

    def _product(self, rows: Stream, tiles: Stream, places: int) -> Stream:
        made: Stream = self._real(rows.map(fn.matmul(transpose=True), tiles), places)
        return made

    def _real(self, sums: Any, places: int) -> Any:
        """Sums of int32, of arrays or streams, as f32."""
        return sums.map(fn.convert(f32, places=places))

    def bytes_of(self, role: str, element: str) -> float:
        """Half a byte for a number of 4 bits."""
        return self.bits / 8 if role in ("gate", "up", "down") else super().bytes_of(role, element)
