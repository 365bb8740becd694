"""add: sums of pairs; folds."""

from __future__ import annotations

from stepgen.ir.function import Folding


class Add(Folding):
    """``a + b``, 1 operation per element."""
