"""Pipelines of operations: how functions write them down, and when each value is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from stepgen.hw.arithmetic.operations import MANTISSA_BITS, Operation, Value
from stepgen.hw.design.ram import Ram
from stepgen.ir.dtypes import ELEMENTS, INTEGERS, ElementType, Tile, bool_, int8, wide
from stepgen.ir.errors import StepError
from stepgen.semantics import numbers


@dataclass(frozen=True)
class Pipeline:
    """Operations on the lanes of beats, in the order in which they were written down.

    Parameters
    ----------
    inputs : tuple of str
        Element types of the operand streams.
    operations : tuple of Operation
        The last one makes the result; without any it is the first operand.
    """

    inputs: tuple[str, ...]
    operations: tuple[Operation, ...]

    @property
    def values(self) -> list[Value]:
        """The inputs, then the result of each operation."""
        return [*(Value(ELEMENTS[x]) for x in self.inputs), *(o.result() for o in self.operations)]

    @property
    def element(self) -> ElementType:
        """Type of the result."""
        return self.values[self.result].element

    @property
    def result(self) -> int:
        """Number of the value that leaves."""
        return len(self.inputs) + len(self.operations) - 1 if self.operations else 0

    def problem(self) -> str | None:
        """What is wrong with the first operation that can't be built, or None."""
        known = len(self.inputs)
        for name in self.inputs:
            if name not in ELEMENTS:
                return f"{name} is not an element type"
        for number, o in enumerate(self.operations):
            if not all(0 <= k < known for k in o.operands):
                return f"operation {number}, {o.name}: it takes values that are not there yet"
            if wrong := o.problem(self._operands(o)):
                return f"operation {number}, {o.name}: {wrong}"
            known += 1
        return None

    def last_problem(self) -> str | None:
        """What is wrong with the last operation, or None."""
        last = self.operations[-1]
        return last.problem(self._operands(last))

    def _operands(self, operation: Operation) -> list[Value]:
        values = self.values
        return [values[k] for k in operation.operands]

    @property
    def times(self) -> list[int]:
        """The stage behind which each value is there: as soon as its operands are."""
        return self._times([0] * len(self.inputs))

    def _times(self, times: list[int]) -> list[int]:
        for o in self.operations:
            start = max((times[k] for k in o.operands), default=0)
            times.append(start + o.stages(self._operands(o)))
        return times

    @property
    def stages(self) -> int:
        """Stages in all."""
        return self.times[self.result]

    @property
    def multipliers(self) -> int:
        """Hardware multipliers of one lane."""
        return sum(o.multipliers(self._operands(o)) for o in self.operations)

    @property
    def tables(self) -> list[Ram]:
        """Tables of constants of one lane."""
        return [table for o in self.operations for table in o.tables]


@dataclass(frozen=True)
class Recurrence(Pipeline):
    """A pipeline whose first input is an earlier result of its own, the state.

    What does not depend on the state is computed ahead of it, so that the way from one result to
    the next is as short as the operations allow.
    """

    @property
    def lead(self) -> int:
        """Cycles by which the other inputs come before the state."""
        ready = super().times
        behind = {0: 0}  # stages behind the state, of values that depend on it
        lead = 0
        for number, o in enumerate(self.operations, len(self.inputs)):
            known = [behind[k] for k in o.operands if k in behind]
            if known:
                start = max(known)
                waits = [ready[k] - start for k in o.operands if k not in behind]
                lead = max([lead, *waits])
                behind[number] = start + o.stages(self._operands(o))
        return lead

    @property
    def times(self) -> list[int]:
        """The stage behind which each value is there, the state being there late."""
        return self._times([self.lead, *[0] * (len(self.inputs) - 1)])

    @property
    def loop(self) -> int:
        """Cycles from the state to the next one, at least one."""
        return max(1, self.stages - self.lead)


def largest(element: str, step: int) -> Recurrence:
    """The larger one of an element and of the state, to which a constant is added."""
    operations = (
        Operation("constant", (), element, (step,)),
        Operation("add", (0, 2), element),
        Operation("maximum", (1, 3), element),
    )
    return Recurrence((element, element), operations)


@dataclass
class _Writer:
    inputs: tuple[str, ...]
    operations: list[Operation] = field(default_factory=list)


def pattern(number: float, element: ElementType) -> int:
    """A constant in a circuit, rounded to its type: the number, or the bit pattern of a float.

    Raises
    ------
    StepError
        If the type is an integer and the number is not.
    """
    if element in INTEGERS and not float(number).is_integer():
        raise StepError(f"a number of {element} must be whole, not {number}")
    tile = numbers.constant(number, element.name)
    if element in MANTISSA_BITS:
        return int(tile.view(np.uint16 if tile.itemsize == 2 else np.uint32)[0, 0])
    return int(tile[0, 0])


@dataclass(frozen=True)
class Lane:
    """One lane of an operand or a result, for functions that write down their arithmetic.

    All operations are on numbers of one element type, except that `convert` changes it and integer
    products are of the sum's type. They round, wrap and saturate as `stepgen.semantics.numbers`.
    """

    element: ElementType
    _number: int
    _writer: _Writer

    def _do(self, name: str, *others: Lane | float, to: ElementType | None = None) -> Lane:
        operands = [self, *(x if isinstance(x, Lane) else self.constant(x) for x in others)]
        numbers_of = tuple(x._number for x in operands)
        return self._made(name, numbers_of, to or self.element)

    def _made(self, name: str, operands: tuple[int, ...], to: ElementType, *constants: int) -> Lane:
        writer = self._writer
        writer.operations.append(Operation(name, operands, to.name, constants))
        made = Pipeline(writer.inputs, tuple(writer.operations))
        if wrong := made.last_problem():
            raise StepError(f"{name}: {wrong}")
        return Lane(to, len(writer.inputs) + len(writer.operations) - 1, writer)

    def constant(self, number: float) -> Lane:
        """A constant of this lane's type, rounded to it; integers may need more bits.

        Raises
        ------
        StepError
            If the type is an integer and the number is not.
        """
        return self._made("constant", (), self.element, pattern(number, self.element))

    def __add__(self, other: Lane | float) -> Lane:
        """The sum; integers wrap around."""
        return self._do("add", other)

    __radd__ = __add__

    def __sub__(self, other: Lane | float) -> Lane:
        """The difference; integers wrap around."""
        return self._do("subtract", other)

    def __rsub__(self, other: float) -> Lane:
        """The difference from a number; integers wrap around."""
        return self.constant(other) - self

    def __mul__(self, other: Lane | float) -> Lane:
        """The product; of integers it is int32, which wraps around."""
        to = wide(self.element) if self.element in INTEGERS else self.element
        return self._do("multiply", other, to=to)

    __rmul__ = __mul__

    def __neg__(self) -> Lane:
        """The number with the other sign, of floats also a zero; integers wrap around."""
        return 0 - self if self.element in INTEGERS else self * -1

    def __truediv__(self, other: Lane | float) -> Lane:
        """The quotient of floats: a product with the tabulated reciprocal."""
        return self._do("divide", other)

    def __rtruediv__(self, other: float) -> Lane:
        """The quotient of a number and a float."""
        return self.constant(other) / self

    def apply(self, function: str) -> Lane:
        """A function of `stepgen.semantics.tables.FUNCTIONS` by name, of a float."""
        return self._do(function)

    def maximum(self, other: Lane | float) -> Lane:
        """The larger one; -0 is below +0, and a NaN makes a NaN."""
        return self._do("maximum", other)

    def minimum(self, other: Lane | float) -> Lane:
        """The smaller one; -0 is below +0, and a NaN makes a NaN."""
        return self._do("minimum", other)

    def compare(self, op: str, other: Lane | float) -> Lane:
        """Whether ``self op other``, as bool; `op` is lt, le, eq, ne, ge or gt."""
        return self._do(op, other, to=bool_)

    def convert(self, to: ElementType, places: int | None = None) -> Lane:
        """The number as one of another type: the nearest, ties to even, integers saturate.

        With places, between floats and integers that count ``2**-places``.
        """
        if places is not None:
            return self._made("convert_places", (self._number,), to, places)
        return self if to == self.element else self._do("convert", to=to)

    def __and__(self, other: Lane) -> Lane:
        """Whether both are set, of bool."""
        return self._do("and", other)

    def __or__(self, other: Lane) -> Lane:
        """Whether one of both is set, of bool."""
        return self._do("or", other)

    def __xor__(self, other: Lane) -> Lane:
        """Whether one of both is set and the other is not, of bool."""
        return self._do("xor", other)

    def __invert__(self) -> Lane:
        """Whether it is not set, of bool."""
        return self._do("not")

    def where(self, a: Lane | float, b: Lane | float, to: ElementType | None = None) -> Lane:
        """`a` where this bool is set, else `b`; `to` is their type where both are numbers.

        Raises
        ------
        StepError
            If both are numbers and there is no `to`, or a number is not of the type.
        """
        elements = [x.element for x in (a, b) if isinstance(x, Lane)]
        made = elements[0] if elements else to
        if made is None:
            raise StepError("where of two numbers needs the type of the result, to=...")
        chosen = (
            x if isinstance(x, Lane) else self._made("constant", (), made, pattern(x, made))
            for x in (a, b)
        )
        return self._made("where", (self._number, *(x._number for x in chosen)), made)

    def lookup(self, table: Sequence[float], to: ElementType) -> Lane:
        """The entry of a table of 256 numbers of a type, of int8: that of -128 comes first."""
        return self._made("lookup", (self._number,), to, *(pattern(n, to) for n in table))

    def requantize(self, multiplier: int | Lane, shift: int | Lane, to: ElementType = int8) -> Lane:
        """``saturate(round(self * multiplier / 2**shift))`` of int32, ties to even.

        The result is int8 or int16. Multiplier and shift are two numbers, or lanes of int32 and
        int8.
        """
        if isinstance(multiplier, Lane) and isinstance(shift, Lane):
            of = (self._number, multiplier._number, shift._number)
            return self._made("requantize_by", of, to)
        if isinstance(multiplier, Lane) or isinstance(shift, Lane):
            raise StepError("requantize takes two numbers or two lanes, not one of each")
        return self._made("requantize", (self._number,), to, multiplier, shift)


def written(function: Callable[..., Lane | None], tiles: Sequence[Tile]) -> Pipeline | None:
    """The pipeline that a function writes down for operands of these types, if it has one."""
    writer = _Writer(tuple(t.element.name for t in tiles))
    result = function(*(Lane(t.element, k, writer) for k, t in enumerate(tiles)))
    if result is None:
        return None
    if not isinstance(result, Lane):
        raise StepError(f"a lane is to be returned, or None, not {result!r}")
    if 0 < result._number < len(tiles):  # a pipeline ends with its result
        result = result._do("convert", to=result.element)
    used = result._number + 1 - len(tiles)
    return Pipeline(writer.inputs, tuple(writer.operations[:used]))
