"""tanh: the hyperbolic tangent."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Tanh(Unary):
    """``tanh(x)``, counted as 4 operations per element like exp."""

    elements: ClassVar = FLOATS
    cost: ClassVar[int] = 4
