"""Map in integers: a sum, a product, or a table of a function of one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from stepgen.frontend.form import Form, Weights, real
from stepgen.frontend.integers import Numbers, moved, tabulated
from stepgen.frontend.kind import Kind, Operands, Value
from stepgen.frontend.kinds.map import Map
from stepgen.frontend.rows import Rows
from stepgen.frontend.run import OpRun
from stepgen.frontend.site import Site
from stepgen.frontend.weight import Array
from stepgen.functions.arithmetic import Add, Mul, Sub
from stepgen.functions.bases import Unary
from stepgen.ir.fn import fn

if TYPE_CHECKING:
    from stepgen.frontend.quantizing.making import Making


@dataclass(frozen=True, kw_only=True)
class IntMap(Map, Form):
    """A function of numbers: sums and products of int16, others of int8 by a table.

    Parameters
    ----------
    fn : Function
        ``fn.add()``, ``fn.sub()``, ``fn.mul()``, or one of one number.
    to : {"int8", "int16"}
        Element type of the result.
    places : int
        Of the result; of sums also of both operands.
    """

    to: Literal["int8", "int16"]
    places: int

    of: ClassVar = Map
    gives: ClassVar = ("int8", "int16")

    @classmethod
    def reads(cls, kind: Kind) -> tuple[str, ...]:
        """Numbers of one byte if there is one of them."""
        return ("int8",) if kind.arity == 1 else ("int16", "int16")

    @classmethod
    def made(cls, making: Making) -> tuple[IntMap, Weights]:
        """The same function."""
        kind = making.op.kind
        assert isinstance(kind, Map)
        if not isinstance(kind.fn, Add | Sub | Mul | Unary):
            making.fail(f"of two numbers it adds, subtracts or multiplies, which {kind.fn} is not")
        return cls(kind.fn, to=making.element, places=making.places), {}

    def result(self, given: Operands) -> Value:
        """A value like the inputs."""
        for index, element in enumerate(self.reads(self)):
            given.integers(index, element)
        made = super().result(real(given)).quantized(self.to, self.places)
        if isinstance(self.fn, Add | Sub):
            for other in given.values:
                if other != made:
                    given.fail(f"{self.fn} of {other} makes no {made}")
        return made

    def compute(self, at: OpRun, *xs: Array) -> Array:  # type: ignore[override]
        """All numbers."""
        made: Numbers = self._made([Numbers(x) for x in xs], at.inputs)
        return made.array

    def lower(self, at: Site, *xs: Rows) -> Rows:  # type: ignore[override]
        """On tiles; if only one of two values is in slices, they become whole rows first."""
        if len({(x.slices, x.cols) for x in xs}) > 1:
            xs = tuple(x.whole() for x in xs)
        return Rows(self._made([x.stream for x in xs], at.inputs), xs[0].slices)

    def _made(self, xs: list[Any], inputs: tuple[Value, ...]) -> Any:
        first, *others = xs
        if isinstance(self.fn, Add | Sub):
            return first.map(self.fn, *others)
        have = sum(value.places or 0 for value in inputs)
        if isinstance(self.fn, Mul):
            return first.map(fn.mul(), *others).map(moved(have, self.places, self.to))
        assert isinstance(self.fn, Unary)
        return first.map(tabulated(self.fn, have, self.to, self.places))
