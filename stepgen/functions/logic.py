"""Logic of flags and selectors, and what flags choose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from stepgen.functions.bases import broadcast
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.logic import params as logic
from stepgen.hw.units.pcu import params as pcu
from stepgen.hw.units.pcu.params import Lane
from stepgen.ir.arguments import shown
from stepgen.ir.dtypes import FLAG, NUMBERS, DataType, ElementType, Selector, Tile, bool_, element
from stepgen.ir.errors import StepError
from stepgen.ir.expr import Expr, constant, product_of
from stepgen.ir.function import Mapped
from stepgen.ir.operator import Call
from stepgen.ir.setting import Setting
from stepgen.semantics import numbers
from stepgen.semantics.applying import say
from stepgen.semantics.numbers import Array


class _Elementwise(Mapped, abstract=True):
    """A function of elements at the same position; extents of 1 are repeated as in numpy."""

    def over(self, call: Call, tiles: Sequence[Tile], made: ElementType) -> Tile:
        """The tile of all shapes together."""
        first, *others = tiles
        both = first
        for other in others:
            rows = broadcast(call, self, "rows", both.rows, other.rows, both, other)
            cols = broadcast(call, self, "cols", both.cols, other.cols, both, other)
            both = Tile(rows, cols, first.element)
        return Tile(both.rows, both.cols, made)

    @abstractmethod
    def lane(self, *lanes: Lane) -> Lane:
        """The arithmetic of one element in the circuit."""

    @property
    @abstractmethod
    def operation(self) -> str:
        """That of `stepgen.hw.units.logic`, for selectors and single flags."""

    def unit(
        self, lanes: int, tiles: Sequence[DataType], without_stops: Sequence[bool]
    ) -> UnitParams | None:
        """The PCU of `lane`; gates for selectors and single flags, which have no dims of a tile."""
        given = tiles[:-1]
        if all(x == FLAG or isinstance(x, Selector) for x in given) and len(given) == self.arity:
            (made,) = tiles[-1:]
            return logic.Logic(self.operation, made.n if isinstance(made, Selector) else 1)
        return pcu.of_function(self.lane, [t for t in tiles if isinstance(t, Tile)], lanes)

    def fit(self, *tiles: Array) -> None:
        """Check that extents are equal, or 1."""
        sizes = [x.shape for x in tiles]
        for extents in zip(*sizes, strict=True):
            if len({*extents} - {1}) > 1:
                raise StepError(f"{self} can't join tiles of {', '.join(map(say, tiles))}")

    def keeps_rows(self, operand: int) -> bool:
        """Each result is at the position of its operands."""
        return True


class _Logical(_Elementwise, abstract=True):
    """An operation on flags, or on the bits of selectors over as many consumers."""

    elements: ClassVar = (bool_,)
    maps_selectors: ClassVar[bool] = True
    arity: ClassVar[int] = 2

    @property
    def operation(self) -> str:
        """The word behind ``logical_``."""
        return self.name.rpartition("_")[2]

    def tile(self, call: Call, *tiles: DataType) -> Tile | Selector:
        """The tile of all shapes together, or a selector."""
        selectors = [x for x in tiles if isinstance(x, Selector)]
        if not selectors:
            flags = [x for x in tiles if isinstance(x, Tile)]
            self.check(call, flags)
            return self.over(call, flags, bool_)
        consumers = {x.n for x in selectors}
        if len(tiles) != self.arity or len(consumers) > 1:
            given = " and ".join(map(str, tiles))
            call.fail(f"{self} takes {self.arity} selectors over as many consumers, not {given}")
        return self.selector(selectors[0])

    def selector(self, x: Selector) -> Selector:
        """The type of what is made of selectors."""
        return Selector(x.n)


class LogicalAnd(_Logical):
    """Whether both are set, of flags or of the bits of selectors."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return np.logical_and(a, b)

    def lane(self, *lanes: Lane) -> Lane:
        """One pair."""
        a, b = lanes
        return a & b


class LogicalOr(_Logical):
    """Whether one of both is set, of flags or of the bits of selectors."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return np.logical_or(a, b)

    def lane(self, *lanes: Lane) -> Lane:
        """One pair."""
        a, b = lanes
        return a | b


class LogicalXor(_Logical):
    """Whether just one is set, of flags or of the bits of selectors."""

    def compute(self, at: Setting, a: Array, b: Array) -> Array:
        """All pairs."""
        return np.logical_xor(a, b)

    def lane(self, *lanes: Lane) -> Lane:
        """One pair."""
        a, b = lanes
        return a ^ b


class LogicalNot(_Logical):
    """Whether it is not set, of flags or of the bits of selectors."""

    arity: ClassVar[int] = 1

    def selector(self, x: Selector) -> Selector:
        """With as many bits set as were not."""
        return Selector(x.n, hot=None if x.hot is None else x.n - x.hot)

    def compute(self, at: Setting, x: Array) -> Array:
        """All elements."""
        return np.logical_not(x)

    def lane(self, *lanes: Lane) -> Lane:
        """One element."""
        (x,) = lanes
        return ~x


@dataclass(frozen=True)
class Where(_Elementwise):
    """Flags, a and b -> a where a flag is set, else b; 1 operation per element.

    What is not chosen leaves no trace, whatever it is: a NaN too. Extents of 1 are repeated as in
    numpy, so flags ``[R, C]`` choose elements, ``[R, 1]`` rows, and ``[1, 1]`` tiles.

    Parameters
    ----------
    then : number, optional
        In place of a, which is not given then: ``flags.map(sg.fn.where(then=0), b)``. It is rounded
        to the element type, and is a whole number where that is an integer.
    otherwise : number, optional
        The same in place of b: ``flags.map(sg.fn.where(otherwise=-1e9), a)``.
    to : ElementType or its name, optional
        Element type of the result where both are numbers.
    """

    then: float | None = None
    otherwise: float | None = None
    to: ElementType | Literal["int8", "int16", "int32", "bf16", "f32"] | None = None

    arity: ClassVar[int] = 3
    elements: ClassVar = (bool_, *NUMBERS)
    operation: ClassVar[str] = "where"

    def __post_init__(self) -> None:
        both = None not in (self.then, self.otherwise)
        if both != (self.to is not None):
            self.refuse(
                "to is the type of the result where then and otherwise are both numbers, and only "
                f"there, not {shown(self.to)}"
            )
        if self.to is not None:
            object.__setattr__(self, "to", element(self.to))
            if self.to not in NUMBERS:
                self.refuse(f"it makes {', '.join(map(str, NUMBERS))}, not {self.to}")

    def check(self, call: Call, tiles: Sequence[Tile]) -> None:
        """Flags, and two tiles of one element type, or numbers in their place."""
        count = self.arity - len(self._constants())
        if len(tiles) != count:
            call.fail(f"{self} takes {count} tiles, the flags first, not {len(tiles)}")
        flags, *others = tiles
        if flags.element != bool_:
            call.fail(f"{self} takes flags first, tiles of bool, not {flags}")
        for other in others:
            if other.element not in self.elements:
                names = ", ".join(map(str, self.elements))
                call.fail(f"{self} chooses {names}, not {other}")
            if other.element != others[0].element:
                call.fail(f"{self} needs tiles of one element type, not {others[0]} and {other}")

    def _constants(self) -> list[float]:
        return [c for c in (self.then, self.otherwise) if c is not None]

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """The tile of all shapes together."""
        self.check(call, tiles)
        made = tiles[1].element if len(tiles) > 1 else element(self.to or bool_)
        for number in self._constants():
            if made == bool_:
                call.fail(f"{self} has no number for flags: combine them by logical_and and others")
            call.constant(str(self), number, made)
        return self.over(call, tiles, made)

    def _with(self, others: Sequence[Any]) -> tuple[Any, Any]:
        """What is chosen where a flag is set and where not: operands in order, or numbers."""
        left = iter(others)
        chosen = [next(left) if c is None else c for c in (self.then, self.otherwise)]
        return chosen[0], chosen[1]

    def compute(self, at: Setting, flags: Array, *others: Array) -> Array:
        """All elements."""
        a, b = (
            x if isinstance(x, np.ndarray) else numbers.constant(x, at.element).astype(at.dtype)
            for x in self._with(others)
        )
        return np.where(flags, a, b)

    def lane(self, *lanes: Lane) -> Lane:
        """One element."""
        flag, *others = lanes
        return flag.where(*self._with(others), None if self.to is None else element(self.to))

    def flops(self, *tiles: Tile) -> Expr:
        """1 per element of the result."""
        extents = [
            next((d.expr for d in dims if d != 1), constant(1))
            for dims in ([t.rows for t in tiles], [t.cols for t in tiles])
        ]
        return product_of(*extents)
