"""Operations of element-wise pipelines: types, stages and multipliers, without their circuits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stepgen.hw.arithmetic import tabulated
from stepgen.hw.arithmetic.scaling import IN_BITS, MULTIPLIER_BITS, ROUND, SELECT, plan
from stepgen.hw.design import stages
from stepgen.hw.design.ram import Ram
from stepgen.ir.arguments import shown, take_fields
from stepgen.ir.dtypes import (
    ELEMENTS,
    INTEGERS,
    NUMBERS,
    ElementType,
    bf16,
    bool_,
    f32,
    int8,
    int16,
    int32,
)
from stepgen.ir.errors import StepError

NARROW_BITS = 16
"""Most bits that are compared and selected in one stage."""
MANTISSA_BITS = {bf16: 7, f32: 23}
"""Stored mantissa bits of the floating-point formats."""
PLACES = 64
"""Most binary places of integers that are converted, and most that they are short of."""
LOOKUP_ROWS = 1 << int8.bits
"""Rows of a table of results: one for each int8, -128 first."""
COMPARISONS = ("lt", "le", "eq", "ne", "ge", "gt")
LOGIC = {"and": 2, "or": 2, "xor": 2, "not": 1}
"""Operations on bits, and how many operands they take."""


@dataclass(frozen=True)
class Value:
    """A value of a pipeline: its type, and its number if it is a constant."""

    element: ElementType
    constant: int | None = None

    @property
    def bits(self) -> int:
        """Bits that it needs as a factor."""
        if self.constant is None:
            return self.element.bits
        return max(self.constant.bit_length(), (-self.constant - 1).bit_length()) + 1


@dataclass(frozen=True)
class Operation:
    """One operation on each lane of a pipeline.

    Parameters
    ----------
    name : str
        One of `OPERATIONS`.
    operands : tuple of int
        Numbers of its operands: the inputs of the pipeline come first, then the results of its
        operations in order.
    element : str
        Element type of the result.
    constants : tuple of int
        Its parameters. A constant's is the number itself, or the bit pattern of a float.
    """

    name: str
    operands: tuple[int, ...]
    element: str
    constants: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        take_fields(self)
        if self.name not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise StepError(f"there is no operation {shown(self.name)}, those are {known}")
        if self.element not in ELEMENTS:
            raise StepError(f"{shown(self.element)} is not an element type")

    @property
    def to(self) -> ElementType:
        """Element type of the result."""
        return ELEMENTS[self.element]

    def result(self) -> Value:
        """The value that it makes."""
        return Value(self.to, self.constants[0] if self.name == "constant" else None)

    def problem(self, operands: Sequence[Value]) -> str | None:
        """Why it can't be built with these operands, or None."""
        kind, to = OPERATIONS[self.name], self.to
        if len(operands) != kind.operands or len(self.constants) != kind.constants:
            return f"it needs {kind.operands} operands and {kind.constants} constants"
        types = [x.element for x in operands]
        if not kind.accepts(types, to):
            given = " and ".join(str(t) for t in types) or "nothing"
            return f"it does not make {to} of {given}"
        try:
            self.stages(operands)
        except StepError as error:
            return str(error)
        return None

    def stages(self, operands: Sequence[Value]) -> int:
        """Pipeline stages from its operands to its result."""
        return OPERATIONS[self.name].stages(self, operands)

    def multipliers(self, operands: Sequence[Value]) -> int:
        """Hardware multipliers of one lane."""
        return OPERATIONS[self.name].multipliers(self, operands)

    @property
    def tables(self) -> list[Ram]:
        """Tables of constants of one lane."""
        return OPERATIONS[self.name].tables(self)


@dataclass(frozen=True)
class Kind:
    """One kind of operation.

    Attributes
    ----------
    operands, constants : int
        How many it takes.
    accepts : callable
        Whether it makes a type of operands of these types.
    stages, multipliers : callable
        Pipeline stages, and hardware multipliers of one lane, of an operation with its operands.
    tables : callable
        Its tables of constants.
    """

    operands: int
    constants: int
    accepts: Callable[[Sequence[ElementType], ElementType], bool]
    stages: Callable[[Operation, Sequence[Value]], int]
    multipliers: Callable[[Operation, Sequence[Value]], int] = lambda o, operands: 0
    tables: Callable[[Operation], list[Ram]] = lambda o: []


FLOAT_ADD = {bf16: 8, f32: 10}
"""Compare exponents; swap; align (f32: coarse, fine); add; count zeros; normalise (f32: coarse,
fine); round; pack."""
FLOAT_FINISH = 3
"""Normalise; round; pack."""
CONVERSIONS: dict[tuple[ElementType, ElementType], int] = {
    **{(of, to): int(of.bits > to.bits) for of in INTEGERS for to in INTEGERS},
    **{(same, same): 0 for same in (*MANTISSA_BITS, bool_)},
    (bf16, f32): 0,
    (f32, bf16): 1,
    **{(bool_, to): 0 for to in NUMBERS},
    **{(of, to): 5 for of in INTEGERS for to in MANTISSA_BITS},
    **{(of, to): 5 for of in MANTISSA_BITS for to in INTEGERS},
}
"""Stages from one element type to another; those that only lay bits out anew have none."""


def _add_stages(o: Operation, operands: Sequence[Value]) -> int:
    return FLOAT_ADD.get(o.to, 1)


def product_multipliers(*bits: int) -> int:
    """Multipliers of a product of factors of so many bits: one or two parts of each."""
    return math.prod(1 + (b > stages.MULTIPLIER_BITS) for b in bits)


def product_stages(*bits: int) -> int:
    """Stages of such a product: multiply, then add the parts in the middle, and these."""
    return stages.MULTIPLIER + product_multipliers(*bits).bit_length() - 1


def _multiply_stages(o: Operation, operands: Sequence[Value]) -> int:
    if o.to in MANTISSA_BITS:
        return product_stages(*2 * [MANTISSA_BITS[o.to] + 1]) + FLOAT_FINISH
    return product_stages(*(x.bits for x in operands))


def _multiply_cost(o: Operation, operands: Sequence[Value]) -> int:
    if o.to in MANTISSA_BITS:
        return product_multipliers(*2 * [MANTISSA_BITS[o.to] + 1])
    # No bit of the product of both upper parts is among the lower 32.
    return min(3, product_multipliers(*(x.bits for x in operands)))


def _select_stages(o: Operation, operands: Sequence[Value]) -> int:
    return 1 if o.to.bits <= NARROW_BITS else 2


def _numbers(types: Sequence[ElementType], to: ElementType) -> bool:
    return to in NUMBERS and all(t == to for t in types)


def _tabulated(operands: int, name: str) -> Kind:
    return Kind(
        operands,
        0,
        lambda of, to: to in MANTISSA_BITS and _numbers(of, to),
        lambda o, _: tabulated.STAGES[name][o.to],
        lambda o, _: tabulated.MULTIPLIERS[name][o.to],
        lambda o: [Ram(c.row_bits, len(c.rows), True) for c in tabulated.contents(name, o.to)],
    )


def _product(types: Sequence[ElementType], to: ElementType) -> bool:
    return _numbers(types, to) or (to == int32 and all(t in INTEGERS for t in types))


def _chosen(types: Sequence[ElementType], to: ElementType) -> bool:
    flags, *others = types
    return flags == bool_ and to in (bool_, *NUMBERS) and all(t == to for t in others)


SCALED = (int8, int16)
"""Element types that sums are scaled to."""
OPERATIONS: dict[str, Kind] = {
    "constant": Kind(0, 1, _numbers, lambda *_: 0),
    "add": Kind(2, 0, _numbers, _add_stages),
    "subtract": Kind(2, 0, _numbers, _add_stages),
    "multiply": Kind(2, 0, _product, _multiply_stages, _multiply_cost),
    "maximum": Kind(2, 0, _numbers, _select_stages),
    "minimum": Kind(2, 0, _numbers, _select_stages),
    "convert": Kind(
        1,
        0,
        lambda of, to: (of[0], to) in CONVERSIONS,
        lambda o, operands: CONVERSIONS[operands[0].element, o.to],
    ),
    "convert_places": Kind(
        1,
        1,
        lambda of, to: (
            (of[0] in MANTISSA_BITS and to in INTEGERS)
            or (of[0] in INTEGERS and to in MANTISSA_BITS)
        ),
        lambda o, operands: CONVERSIONS[operands[0].element, o.to],
    ),
    "requantize": Kind(
        1,
        2,
        lambda of, to: of[0] == int32 and to in SCALED,
        lambda o, _: plan(*o.constants, o.to.bits).stages,
        lambda o, _: plan(*o.constants, o.to.bits).multipliers,
    ),
    "requantize_by": Kind(
        3,
        0,
        lambda of, to: tuple(of) == (int32, int32, int8) and to in SCALED,
        lambda *_: product_stages(IN_BITS, MULTIPLIER_BITS) + SELECT + ROUND,
        lambda *_: product_multipliers(IN_BITS, MULTIPLIER_BITS),
    ),
    "lookup": Kind(
        1,
        LOOKUP_ROWS,
        lambda of, to: of[0] == int8 and to in NUMBERS,
        lambda o, _: stages.rom(LOOKUP_ROWS * o.to.bits),
        tables=lambda o: [Ram(o.to.bits, LOOKUP_ROWS, constant=True)],
    ),
    **{
        relation: Kind(2, 0, lambda of, to: to == bool_ and _numbers(of, of[0]), lambda *_: 1)
        for relation in COMPARISONS
    },
    **{
        name: Kind(count, 0, lambda of, to: {*of, to} == {bool_}, lambda *_: 1)
        for name, count in LOGIC.items()
    },
    "where": Kind(3, 0, _chosen, lambda *_: 1),
    **{name: _tabulated(2 if name == "divide" else 1, name) for name in tabulated.STAGES},
}
"""Every operation, by name."""
