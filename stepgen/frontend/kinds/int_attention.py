"""Attention in integers: a table of exponentials, and one division of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from stepgen.frontend.cached import NO_INTEGER
from stepgen.frontend.form import Form, Weights, real
from stepgen.frontend.integers import MOST, Numbers, powers, products, quotients
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.attention import Attention, packed, unpacked
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import int8
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True, kw_only=True)
class IntAttention(Attention, Form):
    """Attention of int8: scores of int32, weights of int8, one division in bf16.

    Parameters
    ----------
    scale, softcap, causal, window
        As of attention; there is no cap.
    to : {"int8", "int16"}
        Element type of the result.
    places : int
        Of the result.
    """

    to: Literal["int8", "int16"]
    places: int

    of: ClassVar = Attention
    gives: ClassVar = ("int8", "int16")

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("int8", "int8", "int8")

    @classmethod
    def made(cls, making: Making) -> tuple[IntAttention, Weights]:
        """With the same window."""
        kind = making.op.kind
        assert isinstance(kind, Attention)
        if kind.softcap:
            making.fail(f"its scores have a cap of {kind.softcap}")
        made = cls(kind.scale, 0.0, kind.causal, to=making.element, places=making.places)
        return made, making.weights

    def result(self, given: Operands) -> Value:
        """Heads of values, as many as there are of queries."""
        for index in range(3):
            given.integers(index, "int8", rank=3)
        given.element("int32", "window")
        if self.softcap:
            given.fail("scores of integers have no cap")
        return super().result(real(given)).quantized(self.to, self.places)

    def compute(  # type: ignore[override]
        self, at: OpRun, q: Array, k: Array, v: Array, window: Array | int = 0
    ) -> Array:
        """All tokens of the run, which see those in the cache."""
        k, v, seen = self.context(at, q, k, v, window)
        scores = products(q.transpose(1, 0, 2), k.transpose(1, 2, 0))
        scores = np.where(seen, scores, np.int32(NO_INTEGER))
        rows = Numbers(scores)
        weights = self._weights(rows.map(fn.sub(), rows.map(fn.row_max())), at.inputs)
        sums = Numbers(products(weights.array, v.transpose(1, 0, 2)))
        made = self._divided(sums, weights.map(fn.row_sum()), at.inputs)
        return np.asarray(made.array.transpose(1, 0, 2))

    def lower(  # type: ignore[override]
        self, at: Site, q: Rows, k: Rows, v: Rows, window: Weight | None = None
    ) -> Rows:
        """By the tiles of caches, as attention of floats."""
        cached, group = at.cached(), q.slices // k.slices
        q, k, v = (at.by_request(x) for x in (q, k, v))
        cached.explained(at, group)
        keys = cached.with_rows(k.stream, at.cache("keys", k, int8), clears=False)
        # Rows that nobody wrote have weights of 0, and there are no NaNs.
        values = cached.with_rows(v.stream, at.cache("values", v, int8), clears=False)
        queries = packed(q.stream, group, alone=k.slices == 1)
        queries = queries.promote(0).expand(cached.tiles())
        scores = cached.masked(queries.map(fn.matmul(transpose=True), keys), group)
        most = scores.map(fn.row_max()).accum(fn.maximum(), rank=1)
        kept = scores.bufferize(rank=1).streamify(most)
        weights = self._weights(kept.map(fn.sub(), most.promote(0).expand(kept)), at.inputs)
        total = weights.map(fn.row_sum()).accum(fn.add(), rank=1)
        made = self._divided(weights.accum(fn.matmul(), values, rank=1), total, at.inputs)
        return at.together(unpacked(made, q, k, cached.rows))

    def _weights(self, differences: Any, inputs: tuple[Value, ...]) -> Any:
        """Exponentials of scores less the largest."""
        q, k, _ = (value.places or 0 for value in inputs)
        return powers(differences, self.scale * 2.0 ** -(q + k), int8, MOST["int8"])

    def _divided(self, sums: Any, total: Any, inputs: tuple[Value, ...]) -> Any:
        """Weighted sums of values by the sums of weights."""
        v = inputs[2].places
        assert v is not None
        return quotients(sums, total, 2.0 ** (self.places - v), self.to)
