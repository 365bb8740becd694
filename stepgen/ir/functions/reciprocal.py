"""reciprocal: 1 / x."""

from __future__ import annotations

from typing import ClassVar

from stepgen.ir.function import FLOATS, Unary


class Reciprocal(Unary):
    """``1 / x``, 1 operation per element."""

    elements: ClassVar = FLOATS
