"""silu: x * sigmoid(x)."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Silu(Unary):
    """``x / (1 + e ** -x)``, 8 operations per element (paper, section 4.2)."""

    elements: ClassVar = FLOATS
    cost: ClassVar[int] = 8
