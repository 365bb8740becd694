"""Requantize: scales int32 sums to int8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...design import stages
from ...design.formats import Format, misfit
from ...design.params import UnitParams
from ...design.table import Design, Unit

IN_BITS, OUT_BITS = 32, 8
PORT_BITS = 18
"""Width of a hardware multiplier's signed factors."""
ROUND = 2
"""Pipeline stages that round and saturate."""


@dataclass(frozen=True)
class Plan:
    """How the scaling is built.

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


@dataclass(frozen=True)
class Requantize(UnitParams):
    """``y = saturate(round(x * multiplier / 2**shift))``, to the nearest, ties to even.

    Parameters
    ----------
    multiplier : int
        At least 1.
    shift : int
        At least 0.
    """

    multiplier: int
    shift: int

    kind: ClassVar = "requantize"
    inputs: ClassVar = ("x",)
    outputs: ClassVar = ("y",)

    @property
    def plan(self) -> Plan:
        """The constants of the circuit."""
        factor, shift = self.multiplier, self.shift
        while factor % 2 == 0 and shift:
            factor, shift = factor // 2, shift - 1
        if factor & (factor - 1) == 0:
            return Plan(factor, shift, IN_BITS, 0)
        saturates = ((2 ** (OUT_BITS - 1) + 1) << shift) // factor + 1
        clamp_bits = min(IN_BITS, saturates.bit_length() + 1)
        return Plan(factor, shift, clamp_bits, 1 if clamp_bits <= PORT_BITS else 2)

    def problem(self, unit: Unit, design: Design) -> str | None:
        if self.multiplier < 1:
            return f"the multiplier must be at least 1, not {self.multiplier}"
        if self.shift < 0:
            return f"the shift must be at least 0, not {self.shift}"
        rank = design.channel[unit.inputs["x"]].rank
        x = Format(design.lanes, IN_BITS, rank or 0)
        y = Format(design.lanes, OUT_BITS, rank, self.delay(design.lanes))
        return misfit(unit, design, x=x, y=y)

    def delay(self, lanes: int) -> int:
        """Pipeline of ``y`` in cycles."""
        return self.plan.stages

    def multipliers(self, design: Design) -> int:
        """Hardware multipliers of all lanes."""
        return design.lanes * self.plan.multipliers
