"""How a matrix unit adds up products: bits of its sums, stages, and turns, without the circuits."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Pipeline
from stepgen.hw.design import stages
from stepgen.ir.dtypes import ElementType, bf16, f32, int8, int16, wide
from stepgen.semantics.sums import BIAS, FRACTION, PRODUCT_FRACTION

__all__ = [
    "ALIGN",
    "BIAS",
    "EXPONENT_BITS",
    "FRACTION",
    "MULTIPLIED",
    "PAIR",
    "PRODUCT",
    "PRODUCT_FRACTION",
    "STATE_BITS",
    "SUMMED",
    "UNIT_BITS",
    "Summing",
]

EXPONENT_BITS = 9
"""Of the exponent of a product, with its bias twice."""
STATE_BITS = EXPONENT_BITS + 2
"""Beside a float's sum: its exponent, and an infinity of each sign."""
ALIGN = 2
"""Coarse and fine shift of a product."""
FEEDBACK = 4
"""From reading a float's sum to reading what became of it: two shifts, an adder, the memory."""
UNIT_BITS = 5
"""Lower bits of an exponent that are not in the units of a sum that steps in every cycle."""
PRODUCT, PAIR = (
    Pipeline((f32.name, f32.name), (Operation(name, (0, 1), f32.name),))
    for name in ("multiply", "add")
)
"""A product of two f32, and a sum of two, both rounded."""
ROUND = 7
"""Sign; digits that are zero; count them; normalise coarse and fine; round; pack."""


@dataclass(frozen=True)
class Summing:
    """Sums of products of one element type.

    Parameters
    ----------
    element : ElementType
        Of the factors.
    k : int
        Products of a sum.
    starts : bool
        Whether sums start at given numbers of the result's type, else at zero.
    """

    element: ElementType
    k: int
    starts: bool = False

    @property
    def to(self) -> ElementType:
        """Element type of the result."""
        return wide(self.element)

    @property
    def bits(self) -> int:
        """Bits of a sum: those that K products can fill, of integers at most a result's."""
        if self.element == f32:
            return f32.bits
        if self.element == bf16:
            return FRACTION + 2 + self.k.bit_length() + 1
        if self.starts:
            return self.to.bits
        return min(self.k.bit_length() + 2 * self.element.bits - 1, self.to.bits)

    @property
    def value_bits(self) -> int:
        """Bits of a result that its values need, where they are fewer than it has; else 0."""
        return 0 if self.indexed or self.bits == self.to.bits else self.bits

    @property
    def state_bits(self) -> int:
        """Bits that are kept between two slices."""
        return self.bits + (STATE_BITS if self.element == bf16 else 0)

    @property
    def indexed(self) -> bool:
        """Whether any sum can step next, not only the one whose turn it is."""
        return self.element in (bf16, f32)

    def kept(self, slices: int) -> int:
        """How many of a row's slices of sums lie in memory: of integers two are in registers."""
        return slices if self.indexed else max(0, slices - 2)

    def turn(self, slices: int) -> int:
        """Least cycles from a step of one of a row's slices of sums to its next step."""
        if self.element == f32:  # two registers, and the adder
            return max(slices, PAIR.stages + 2)
        return max(slices, FEEDBACK) if self.element == bf16 else slices

    def stages(self, lanes: int) -> int:
        """Cycles from the factors to the sums."""
        tree = (lanes - 1).bit_length()  # a stage per level
        if self.element == f32:
            return PRODUCT.stages + tree * PAIR.stages + 1 + PAIR.stages
        if self.element != bf16:
            return stages.MULTIPLIER + tree + 1
        return self.aligned(lanes) + ALIGN + tree + 1 + ROUND

    def stages_at_once(self, lanes: int) -> int:
        """As `stages`, of a float's sum that steps in every cycle: into its units, and back."""
        return self.stages(lanes) + 2

    def aligned(self, lanes: int) -> int:
        """Cycles from the factors of floats to how far each product is shifted.

        Exponents of the products; those of zeros; a stage per level of the tree for the largest,
        and one for that of the sum; distances.
        """
        return max(stages.MULTIPLIER, 2 + (lanes - 1).bit_length() + 2)


SUMMED = (int8, int16, bf16)
"""Element types whose products are added without rounding."""
MULTIPLIED = (*SUMMED, f32)
"""Element types that the matrix unit multiplies."""
