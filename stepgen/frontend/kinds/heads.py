"""Heads: a row as several of equal width."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array


@dataclass(frozen=True)
class Heads(Kind):
    """Rows [T, width] as [T, width / each, each].

    Parameters
    ----------
    each : int
        Width of a head.
    """

    each: int

    def result(self, given: Operands) -> Value:
        """The heads."""
        width = given.rows(2).width
        if self.each < 1 or width % self.each:
            given.fail(f"a row of {width} can't be cut into heads of {self.each}")
        return given.x.with_width(width // self.each, self.each)

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """The same numbers."""
        return x.reshape(len(x), -1, self.each)

    def columns(self) -> int:
        """Those of a head."""
        return self.each

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """Slices of the width of a head."""
        return x.sliced(self.each)
