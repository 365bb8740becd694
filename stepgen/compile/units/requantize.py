"""Facts of requantize: int32 sums back to int8.

Ports
-----
x -> y; y has a pipeline of `delay` cycles.

Parameters
----------
multiplier, shift : int
    ``y = saturate(round(x * multiplier / 2**shift))``, to the nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import stages

IN_BITS, OUT_BITS = 32, 8
PORT_BITS = 18
"""Width of a hardware multiplier's signed factors."""
ROUND = 2
"""Stages that round and saturate."""


@dataclass(frozen=True)
class Plan:
    """How the scaling is built.

    Attributes
    ----------
    factor, shift : int
        The same fraction in lowest terms: ``factor / 2**shift``.
    clamp_bits : int
        Bits that an input is saturated to first; what is lost would saturate in the end anyway.
    multipliers : int
        Hardware multipliers per lane: none for a power of two, two where `clamp_bits` is wide.
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


def plan(params: Mapping[str, Any]) -> Plan:
    """The plan for given parameters."""
    factor, shift = int(params["multiplier"]), int(params["shift"])
    while factor % 2 == 0 and shift:
        factor, shift = factor // 2, shift - 1
    if factor & (factor - 1) == 0:
        return Plan(factor, shift, IN_BITS, 0)
    saturates = ((2 ** (OUT_BITS - 1) + 1) << shift) // factor + 1
    clamp_bits = min(IN_BITS, saturates.bit_length() + 1)
    return Plan(factor, shift, clamp_bits, 1 if clamp_bits <= PORT_BITS else 2)


def delay(params: Mapping[str, Any], lanes: int) -> int:
    """Pipeline of the output in cycles."""
    return plan(params).stages


def multipliers(params: Mapping[str, Any], lanes: int) -> int:
    """Hardware multipliers."""
    return lanes * plan(params).multipliers
