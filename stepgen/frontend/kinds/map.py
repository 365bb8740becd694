"""Map: a function of stepgen on each number, or on each pair of two values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array
from stepgen.functions.bases import Binary, Unary
from stepgen.ir.function import Function


@dataclass(frozen=True)
class Map(Kind):
    """A function of one or two numbers, as `fn.silu()` or `fn.add()`.

    Parameters
    ----------
    fn : Function
        One whose results do not depend on other numbers.
    """

    fn: Function

    @property
    def arity(self) -> int:  # type: ignore[override]
        """That of the function."""
        return self.fn.arity

    def result(self, given: Operands) -> Value:
        """A value like the inputs."""
        if not isinstance(self.fn, Unary | Binary) or self.fn.converts:
            given.fail(f"{self.fn} is not a function of real numbers, one by one")
        given.numbers()
        for other in given.values[1:]:
            if other != given.x:
                given.fail(f"{self.fn} needs two values of one type, not {given.x} and {other}")
        return given.x

    def compute(self, at: OpRun, *xs: Array) -> Array:  # type: ignore[override]
        """All numbers."""
        assert isinstance(self.fn, Unary | Binary)
        return self.fn.exact(*xs)

    def lower(self, at: Site, *xs: Rows) -> Rows:  # type: ignore[override]
        """On tiles; if only one of two values is in slices, they become whole rows first."""
        if len({(x.slices, x.cols) for x in xs}) > 1:
            xs = tuple(x.whole() for x in xs)
        first, *others = xs
        return first.map(self.fn, *(x.stream for x in others))

    def flops(self, given: Operands, cached: int) -> int:
        """What the function costs, for each number."""
        shape = [n for n in given.x.shape if isinstance(n, int)]
        return int(np.prod(shape)) * getattr(self.fn, "cost", 1)

    @property
    def short(self) -> str:
        """The name of the function."""
        return self.fn.name

    def __str__(self) -> str:
        return f"map({self.fn})"
