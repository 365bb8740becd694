"""maximum: the larger of each pair; folds."""

from __future__ import annotations

from stepgen.ir.function import Folding


class Maximum(Folding):
    """``max(a, b)``, 1 operation per element."""
