"""square: x * x."""

from __future__ import annotations

from stepgen.ir.function import Unary


class Square(Unary):
    """``x * x``, 1 operation per element."""
