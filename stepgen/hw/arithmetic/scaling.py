"""How a sum is scaled by a fraction: the constants of the circuit."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.hw.design import stages
from stepgen.ir.errors import StepError

IN_BITS = 32
FACTOR_BITS = 18
"""Width of a hardware multiplier's signed factors."""
LOW_BITS = FACTOR_BITS - 1
"""Width of the unsigned part of a factor that two multipliers share."""
ROUND = 2
"""Pipeline stages that round and saturate."""
MULTIPLIER_BITS, SHIFT_BITS = 15, 5
"""Width of a multiplier and of a shift that are not constants."""
SELECT = 3
"""Pipeline stages of a shift that is not constant: by 16 and 8, by 4, by 2 and 1."""


@dataclass(frozen=True)
class Plan:
    """How ``saturate(round(x * multiplier / 2**shift))`` is built.

    Attributes
    ----------
    factor, shift : int
        The same fraction in lowest terms: ``factor / 2**shift``.
    clamp_bits : int
        Bits that an input is saturated to first; larger values saturate the result anyway.
    multipliers : int
        Hardware multipliers per lane: none for a power of two, two if `clamp_bits` is wide.
    """

    factor: int
    shift: int
    clamp_bits: int
    multipliers: int

    @property
    def stages(self) -> int:
        """Pipeline stages in all: clamp, multiply, add the halves, round."""
        if not self.multipliers:
            return ROUND
        return 1 + stages.MULTIPLIER + (self.multipliers - 1) + ROUND


def plan(multiplier: int, shift: int, bits: int) -> Plan:
    """The constants for a multiplier of at least 1, a shift of at least 0, and bits of a result."""
    if multiplier < 1:
        raise StepError(f"the multiplier must be at least 1, not {multiplier}")
    if shift < 0:
        raise StepError(f"the shift must be at least 0, not {shift}")
    factor = multiplier
    while factor % 2 == 0 and shift:
        factor, shift = factor // 2, shift - 1
    if factor & (factor - 1) == 0:
        return Plan(factor, shift, IN_BITS, 0)
    saturates = ((2 ** (bits - 1) + 1) << shift) // factor + 1
    clamp_bits = min(IN_BITS, saturates.bit_length() + 1)
    return Plan(factor, shift, clamp_bits, 1 if clamp_bits <= FACTOR_BITS else 2)
