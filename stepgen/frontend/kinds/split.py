"""Split: some of the columns of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array


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
        width = given.rows(2).width
        if self.count < 1 or not 0 <= self.first <= width - self.count:
            last = self.first + self.count - 1
            given.fail(f"a row of {width} has no columns {self.first} to {last}")
        return given.x.with_width(self.count)

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """These columns."""
        return x[:, self.first : self.first + self.count]

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """Some of the slices, of a width that divides these columns and what is around them."""
        width = x.cols * x.slices
        cols = math.gcd(self.first, self.count, width, x.cols if x.slices > 1 else 0)
        first, count = self.first // cols, self.count // cols
        if count * cols == width:
            return x
        cut = x.sliced(cols)
        sizes = [first, count, cut.slices - first - count]
        part = cut.stream.split([size for size in sizes if size])[int(first > 0)]
        return Rows(part, count) if count > 1 else Rows(part.flatten(0, 1))
