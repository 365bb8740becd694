"""gelu: x * Phi(x), Phi being the normal distribution."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Gelu(Unary):
    """The exact GELU, counted as 8 operations per element like SiLU."""

    elements: ClassVar = FLOATS
    cost: ClassVar[int] = 8
