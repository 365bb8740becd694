"""minimum: the smaller of each pair; folds."""

from __future__ import annotations

from stepgen.ir.function import Folding


class Minimum(Folding):
    """``min(a, b)``, 1 operation per element."""
