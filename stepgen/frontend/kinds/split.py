"""Split: some of the columns of a row."""

from __future__ import annotations

from dataclasses import dataclass

from ..kind import Kind, Operands, Value
from ..run import Step
from ..weight import Array


@dataclass(frozen=True)
class Split(Kind):
    """Columns `first` to ``first + count - 1``.

    Parameters
    ----------
    first, count : int
    """

    first: int
    count: int

    def result(self, given: Operands) -> Value:
        """So many columns."""
        width = given.numbers(2).width
        if self.count < 1 or not 0 <= self.first <= width - self.count:
            last = self.first + self.count - 1
            given.fail(f"a row of {width} has no columns {self.first} to {last}")
        return given.x.with_width(self.count)

    def compute(self, at: Step, x: Array) -> Array:  # type: ignore[override]
        """These columns."""
        return x[:, self.first : self.first + self.count]
