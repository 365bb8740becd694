"""Cast: integers as integers of another element type and other places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from stepgen.frontend.integers import Numbers, moved
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array
from stepgen.ir.dtypes import int32
from stepgen.ir.fn import fn


@dataclass(frozen=True)
class IntCast(Kind):
    """The nearest numbers of other places; those that do not fit are cut off.

    Parameters
    ----------
    to : {"int8", "int16"}
        Element type of the result.
    places : int
        Of the result.
    """

    to: Literal["int8", "int16"]
    places: int

    def result(self, given: Operands) -> Value:
        """A value like the input."""
        return given.integers(0).quantized(self.to, self.places)

    def compute(self, at: OpRun, x: Array) -> Array:  # type: ignore[override]
        """All numbers."""
        made: Numbers = self._made(Numbers(x), at.inputs[0])
        return made.array

    def lower(self, at: Site, x: Rows) -> Rows:  # type: ignore[override]
        """On tiles."""
        return Rows(self._made(x.stream, at.inputs[0]), x.slices)

    def _made(self, x: Any, value: Value) -> Any:
        assert value.places is not None
        wide = x if value.element == "int32" else x.map(fn.convert(int32))
        return wide.map(moved(value.places, self.places, self.to))
