"""Join: heads as one row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..kind import Kind, Operands, Value
from ..rows import Rows
from ..run import OpRun
from ..site import Site
from ..weight import Array


@dataclass(frozen=True)
class Join(Kind):
    """Heads [T, heads, width] as rows [T, heads * width]."""

    def result(self, given: Operands) -> Value:
        """The rows."""
        heads = given.rows(3)
        tokens, count, width = heads.shape
        return replace(heads, shape=(tokens, int(count) * int(width)))

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """The same numbers."""
        return x.reshape(len(x), -1)

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """The same slices."""
        return x
