"""Budgets of on-chip memory, and what a design takes of one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from stepgen.compile.cost import on_chip_bits, unit_bits
from stepgen.hw.design.table import Channel, Design, Unit
from stepgen.ir.errors import StepError

KIB = 8 * 1024
"""Bits of a KiB."""


class Budget(ABC):
    """How much on-chip memory a design may take.

    Attributes
    ----------
    unit_of : str
        What is counted, as in "3 bits".
    most : float
        How much of it there is.
    """

    unit_of: str
    most: float

    @abstractmethod
    def design(self, design: Design) -> int:
        """What a design takes."""

    @abstractmethod
    def unit(self, unit: Unit, design: Design) -> int:
        """What the memories inside of a unit take, its queues included."""

    @abstractmethod
    def fifo(self, channel: Channel) -> int:
        """What a FIFO takes."""

    @abstractmethod
    def refused(self, design: Design) -> str:
        """Why a design is too large, without what its needs are."""

    def holds(self, design: Design) -> bool:
        """Whether a design takes no more than there is."""
        return self.design(design) <= self.most


class Bits(Budget):
    """So many KiB of memory of any kind.

    Parameters
    ----------
    kib : float

    Raises
    ------
    StepError
        If that is not a positive number.
    """

    unit_of = "bits"

    def __init__(self, kib: float):
        if not 0 < kib < math.inf:
            raise StepError(f"onchip must be a positive number of KiB, not {kib:g}")
        self.kib = kib
        self.most = kib * KIB

    def design(self, design: Design) -> int:
        return on_chip_bits(design)

    def unit(self, unit: Unit, design: Design) -> int:
        return unit_bits(unit, design)

    def fifo(self, channel: Channel) -> int:
        return channel.memory_bits

    def refused(self, design: Design) -> str:
        least = math.ceil(10 * on_chip_bits(design) / KIB) / 10
        return f"{design.name} needs {least:,} KiB on chip at least, not {self.kib:g}"


def budget_of(onchip: float | Budget) -> Budget:
    """The budget that is asked for: KiB, or another one."""
    return onchip if isinstance(onchip, Budget) else Bits(onchip)
