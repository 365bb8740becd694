"""Join: heads as one row."""

from __future__ import annotations

from dataclasses import dataclass

from ..kind import Kind, Operands, Value
from ..run import Step
from ..site import Rows, Site
from ..weight import Array


@dataclass(frozen=True)
class Join(Kind):
    """Heads [T, heads, width] as rows [T, heads * width]."""

    def result(self, given: Operands) -> Value:
        """The rows."""
        tokens, heads, width = given.numbers(3).shape
        return Value((tokens, int(heads) * int(width)))

    def compute(self, at: Step, x: Array) -> Array:  # type: ignore[override]
        """The same numbers."""
        return x.reshape(len(x), -1)

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """The same slices."""
        return x
