"""RoPE in integers: products of int16 with a table of cosines and sines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from stepgen.frontend.form import Form, Weights, real
from stepgen.frontend.integers import SHARE, Numbers, integers, moved
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.rope import Rope
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array, Weight
from stepgen.ir.dtypes import int16
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True, kw_only=True)
class IntRope(Rope, Form):
    """Heads of int16, turned by a table of int16.

    Parameters
    ----------
    pairs, factor
        As of RoPE; the factor is below 2.
    to : {"int8", "int16"}
        Element type of the result.
    places : int
        Of the result.
    """

    to: Literal["int8", "int16"]
    places: int

    of: ClassVar = Rope
    gives: ClassVar = ("int8", "int16")

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Rows."""
        return ("int16", "")

    @classmethod
    def made(cls, making: Making) -> tuple[IntRope, Weights]:
        """With the same frequencies."""
        kind = making.op.kind
        assert isinstance(kind, Rope)
        made = cls(kind.pairs, kind.factor, to=making.element, places=making.places)
        return made, {"frequencies": making.weights["frequencies"]}

    def result(self, given: Operands) -> Value:
        """Heads like the input."""
        given.integers(0, "int16", rank=3)
        if not abs(self.factor) < 2:
            given.fail(f"its factor must be below 2, not {self.factor}")
        return super().result(real(given)).quantized(self.to, self.places)

    def table(self, positions: Array, frequencies: Array) -> Array:
        """Cosines and sines as integers."""
        return integers(super().table(positions, frequencies), "int16", SHARE)

    def compute(  # type: ignore[override]
        self, at: OpRun, x: Array, positions: Array, frequencies: Array
    ) -> Array:
        """All heads."""
        cos, sin = np.split(self.table(positions, frequencies)[:, None], 2, -1)
        if self.pairs == "neighbours":
            across = Numbers(x).map(fn.rotate_pairs())
        else:
            across = Numbers(np.concatenate(np.split(x, 2, -1)[::-1], -1))
        turned: Numbers = self._turned(Numbers(x), across, Numbers(cos), Numbers(sin), at.inputs[0])
        return turned.array

    def lower(  # type: ignore[override]
        self, at: Site, x: Rows, positions: Rows, frequencies: Weight
    ) -> Rows:
        """Cosines and sines by position, which all heads share."""
        cos, sin = map(x.spread, self.turns(at, positions, frequencies, int16))
        across = self.across(x).stream
        return Rows(self._turned(x.stream, across, cos, sin, at.inputs[0]), x.slices)

    def _turned(self, x: Any, across: Any, cos: Any, sin: Any, value: Value) -> Any:
        assert value.places is not None
        sums = x.map(fn.mul(), cos).map(fn.add(), across.map(fn.mul(), sin))
        return sums.map(moved(value.places + SHARE, self.places, self.to))
