"""sqrt: the square root."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Sqrt(Unary):
    """``sqrt(x)``, counted as 4 operations per element like rsqrt."""

    elements: ClassVar = FLOATS
    cost: ClassVar[int] = 4
