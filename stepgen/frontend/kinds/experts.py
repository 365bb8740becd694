"""Experts: a router chooses for each token the gated layers that it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.sent import given, sent
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.functions.bases import Unary
from stepgen.ir.dtypes import ElementType, f32
from stepgen.ir.fn import fn
from stepgen.ir.function import Function
from stepgen.ir.stream import Stream


@dataclass(frozen=True)
class Chosen:
    """The experts of each token, as addresses of their weights.

    Attributes
    ----------
    at : Site
    expert, number : Stream
        Among all of a layer, and among those of all layers.
    top : int
        How many there are for a token.
    width, cols, count : int
        Columns of a token, hidden columns of a tile, and tiles of an expert.
    """

    at: Site
    expert: Stream
    number: Stream
    top: int
    width: int
    cols: int
    count: int

    @classmethod
    def of(cls, at: Site, route: Stream, top: int, gate: Weight) -> Chosen:
        """Those that selectors name."""
        every, width, hidden = gate.shape[-3:]
        expert = route.flat_map(fn.tile_addresses(1), rank=1)
        number, layers = expert, at.lowering.layers
        if layers is not None:
            first = layers.number.map(fn.scale(every))
            if at.lowering.rows > 1:
                first = first.promote(0).expand(count=at.lowering.rows)
            number = expert.map(fn.add(), first.promote(0).expand(count=top))
        cols = at.cut(hidden)
        return cls(at, expert, number, top, width, cols, hidden // cols)

    def repeated(self, rows: Stream) -> Stream:
        """Tokens once for each tile of each of their experts."""
        return rows.promote(0).expand(count=self.top).promote(0).expand(count=self.count)

    def tiles(self, role: str, weight: Weight, element: ElementType | None = None) -> Stream:
        """Tiles of their weights [columns, width], by default of factors."""
        of = self.expert if self.at.shared(role) else self.number
        places = of.flat_map(fn.tile_addresses(self.count), rank=1)
        return self.at.picked(role, weight, places, (self.cols, self.width), element)

    def rows(self, role: str, weight: Weight) -> Stream:
        """Rows of f32 for the columns of their tiles, of [experts, hidden]."""
        of = self.expert if self.at.shared(role) else self.number
        places = of.flat_map(fn.tile_addresses(self.count), rank=1)
        cut = weight.moved((*weight.shape[:-1], self.count, self.cols), lambda a: a)
        return self.at.picked(role, cut, places, (1, self.cols), f32)

    def whole(self, role: str, weight: Weight) -> Stream:
        """A row of f32 for each of them, of [experts, columns]."""
        of = self.expert if self.at.shared(role) else self.number
        return self.at.picked(role, weight, of, (1, weight.shape[-1]), f32)


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

    needs: ClassVar[tuple[str, ...]] = ("router", "gate", "up", "down")

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
            given.fail(f"{self.fn} is not a function of one number")
        return given.x

    def compute(self, at: OpRun, x: Array, **weights: Array) -> Array:  # type: ignore[override]
        """All tokens, expert by expert."""
        logits = x @ weights["router"]
        chosen = np.argsort(-logits, -1, kind="stable")[:, : self.top]
        shares = np.exp(logits - logits.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        shares = np.take_along_axis(shares, chosen, 1)
        if self.normalise:
            shares /= shares.sum(-1, keepdims=True)
        at.note("x", x)
        own = {role: weight for role, weight in weights.items() if role != "router"}
        made = np.zeros_like(x)
        for expert in np.unique(chosen):
            token, rank = np.nonzero(chosen == expert)
            done = self.one(at, x[token], **{role: every[expert] for role, every in own.items()})
            made[token] += shares[token, rank, None] * done
        return made

    def one(self, at: OpRun, x: Array, gate: Array, up: Array, down: Array) -> Array:
        """The golden model of one expert."""
        act: Any = self.fn
        gated, upped = x @ gate, x @ up
        hidden = act.exact(gated) * upped
        for what, inner in (("gate", gated), ("up", upped), ("hidden", hidden)):
            at.note(what, inner)
        return np.asarray(hidden @ down)

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, router: Weight, gate: Weight, up: Weight, down: Weight
    ) -> Rows:
        """By address, or by tiles of the tokens of an expert; see `sent`."""
        lowering = at.lowering
        factor, route, shares = self.choice(at, x, router)
        weights = {"gate": gate.T, "up": up.T, "down": down}
        if lowering.tiling == "address":
            at.because(f"a token reads its {self.top} experts by address")
            chosen = Chosen.of(at, route, self.top, gate)
            tiles = {role: chosen.tiles(role, every) for role, every in weights.items()}
            made = self._expert(at, chosen.repeated(factor), tiles)
        else:
            rows = (
                f"of {lowering.expert_rows} tokens" if lowering.tiling == "static" else "its tokens"
            )
            at.because(f"an expert reads its weights once for {rows}")
            made = sent(at, factor, route, weights, partial(self._expert, at))
        return self.total(at, made, shares)

    def choice(self, at: Site, x: Rows, router: Weight) -> tuple[Stream, Stream, Stream]:
        """Rows of tokens as factors, the experts of each, and their p."""
        x = x.whole()
        factor = one_by_one(at, at.factor(x.stream))
        if at.lowering.routed:
            return factor, *given(at, factor, router.shape[-1], self.top)
        logits = one_by_one(
            at, at.columns("router", router, x, at.cut(router.shape[-1])).whole().stream
        )
        return factor, logits.map(fn.top_k(self.top)), self._shares(logits)

    def total(self, at: Site, made: Stream, shares: Stream) -> Rows:
        """What the experts of a token make, by their p."""
        share = shares.flat_map(fn.retile_streamify("col"), rank=1)
        return Rows(together(at, made.map(fn.mul(), share).accum(fn.add(), rank=1)))

    def _expert(self, at: Site, rows: Stream, weights: dict[str, Stream]) -> Stream:
        """What an expert makes of tiles of rows, one for each tile of its weights.

        Expert e of layer l is number ``l * experts + e``, by which its weights are read.
        """
        gated = rows.map(fn.matmul(transpose=True), weights["gate"]).map(self.fn)
        upped = rows.map(fn.matmul(transpose=True), weights["up"])
        # Branches of experts have conversions of their own, so they stay alike.
        both = gated.map(fn.mul(), upped)
        both = both if at.lowering.element == f32 else both.map(fn.convert(at.lowering.element))
        return both.accum(fn.matmul(), weights["down"], rank=1)

    def _shares(self, logits: Stream) -> Stream:
        """The p of the chosen experts, in the order of their numbers."""
        chosen, highest = logits.map(fn.top_k_scores(self.top)), logits.map(fn.row_max())
        powers = chosen.map(fn.sub(), highest).map(fn.exp())
        every = powers if self.normalise else logits.map(fn.sub(), highest).map(fn.exp())
        return powers.map(fn.div(), every.map(fn.row_sum()))

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


def one_by_one(at: Site, tiles: Stream) -> Stream:
    """Tiles of one row, since each token goes to experts of its own."""
    return tiles if at.lowering.rows == 1 else tiles.flat_map(fn.retile_streamify("row"), rank=1)


def together(at: Site, rows: Stream) -> Stream:
    """The rows of a tile again."""
    return rows if at.lowering.rows == 1 else rows.accum(fn.retile_row(), rank=1)
