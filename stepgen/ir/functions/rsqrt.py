"""rsqrt: 1 / sqrt(x)."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Rsqrt(Unary):
    """``1 / sqrt(x)``, 4 operations per element (paper, section 4.2)."""

    elements: ClassVar = FLOATS
    cost: ClassVar[int] = 4
