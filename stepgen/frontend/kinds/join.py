"""Join: heads as one row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array


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
