"""sub: differences of pairs."""

from __future__ import annotations

from stepgen.ir.function import Binary


class Sub(Binary):
    """``a - b``, 1 operation per element."""
