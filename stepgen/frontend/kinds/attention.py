"""Attention with a cache of keys and values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.frontend.cached import parted
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream


@dataclass(frozen=True)
class Attention(Kind):
    """``softmax(scale * q @ k.T) @ v`` of each head, of queries, keys and values [T, heads, width].

    Several heads of queries may share a head of keys and values. The weight ``window``, one number,
    bounds how far back a query looks: itself and so many less one before it; 0 if it is unbounded.

    Parameters
    ----------
    scale : float
    softcap : float
        Scores become ``softcap * tanh(score / softcap)``; 0 leaves them.
    causal : bool
        Whether a query looks back only. Else it sees all tokens of a run, and there is no cache.
    """

    scale: float
    softcap: float = 0.0
    causal: bool = True

    arity = 3
    takes = ("window",)

    def result(self, given: Operands) -> Value:
        """Heads of values, as many as there are of queries."""
        given.numbers(3)
        q, k, v = given.values
        if q.shape[2] != k.shape[2] or k.shape[1] != v.shape[1] or len(v.shape) != 3:
            given.fail(f"queries {q}, keys {k} and values {v} do not fit together")
        if int(q.shape[1]) % int(k.shape[1]):
            given.fail(f"{q.shape[1]} heads of queries can't share {k.shape[1]} heads of keys")
        given.expect("window")
        return Value((*q.shape[:2], v.shape[2]))

    def compute(  # type: ignore[override]
        self, at: OpRun, q: Array, k: Array, v: Array, window: Array | float = 0.0
    ) -> Array:
        """All tokens of the run, which see those in the cache."""
        keys, values, seen = self.context(at, q, k, v, window)
        scores = np.einsum("thd,shd->hts", q, keys) * self.scale
        if self.softcap:
            scores = np.tanh(scores / self.softcap) * self.softcap
        scores = np.where(seen, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return np.asarray(np.einsum("hts,shd->thd", weights, values))

    def context(
        self, at: OpRun, q: Array, k: Array, v: Array, window: Array | float
    ) -> tuple[Array, Array, Array]:
        """Keys and values of each head of queries, and which of them a token sees."""
        if not self.causal and at.run.state is not None:
            at.fail("it sees tokens to come, so a run can't be continued")
        if self.causal:
            k, v = at.append(k, v)
        group = q.shape[1] // k.shape[1]
        seen = np.ones((len(q), len(k)), bool)
        if self.causal:
            back = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
            seen = (back >= 0) & ((back < window) | (window == 0))
        return np.repeat(k, group, 1), np.repeat(v, group, 1), seen

    def lower(  # type: ignore[override]
        self, at: Site, q: Rows, k: Rows, v: Rows, window: Weight | None = None
    ) -> Rows:
        """By the tiles of caches; queries that share keys are rows of a tile.

        A chunk is one tile of all heads. Requests, which see caches of their own, go one by one.
        """
        if not self.causal:
            at.fail("attention to tokens to come can't be lowered to a program yet")
        cached = at.cached()
        q, k, v = (at.by_request(x) for x in (q, k, v))
        keys = cached.with_rows(at.factor(k.stream), at.cache("keys", k), clears=False)
        values = cached.with_rows(at.factor(v.stream), at.cache("values", v), clears=True)
        group = q.slices // k.slices
        cached.explained(at, group)
        queries = packed(at.factor(q.stream), group, alone=k.slices == 1)
        products = queries.promote(0).expand(cached.tiles()).map(fn.matmul(transpose=True), keys)
        scores = products.map(fn.scale(self.scale))
        if self.softcap:
            scores = scores.map(fn.scale(1 / self.softcap)).map(fn.tanh())
            scores = scores.map(fn.scale(self.softcap))
        scores = cached.masked(scores, group)
        # The maximum is known behind the last tile; until then scores are kept on chip.
        most = scores.map(fn.row_max()).accum(fn.maximum(), rank=1)
        kept = scores.bufferize(rank=1).streamify(most)
        weights = kept.map(fn.sub(), most.promote(0).expand(kept)).map(fn.exp())
        total = weights.accum(fn.add(), rank=1).map(fn.row_sum())
        made = at.factor(weights).accum(fn.matmul(), values, rank=1).map(fn.div(), total)
        return at.together(unpacked(made, q, k, cached.rows))

    def flops(self, given: Operands, cached: int) -> int:
        """Both products, 4 for an exponential, 3 for its maximum, sum and quotient."""
        q, _, v = given.values
        return int(q.shape[1]) * cached * (2 * int(q.shape[2]) + 2 * int(v.shape[2]) + 7)

    def cached(self, given: Operands) -> int:
        """A row of keys and one of values."""
        _, k, v = given.values
        return int(k.shape[1]) * (int(k.shape[2]) + int(v.shape[2])) if self.causal else 0


def packed(queries: Stream, group: int, *, alone: bool) -> Stream:
    """Heads of queries, as tiles of those that share a head of keys."""
    if group == 1:
        return queries
    if not alone:
        queries, _ = queries.reshape(dim=0, chunk=group, pad=0)
    return queries.accum(fn.retile_row(), rank=1)


def unpacked(tiles: Stream, q: Rows, k: Rows, rows: int) -> Rows:
    """The reverse of `packed`, of tiles with so many tokens of each head."""
    if q.slices > k.slices:
        tiles = parted(tiles, rows)
        tiles = tiles if k.slices == 1 else tiles.flatten(0, 1)
    return Rows(tiles, q.slices)
