"""mul: products of pairs; folds."""

from __future__ import annotations

from stepgen.ir.function import Folding


class Mul(Folding):
    """``a * b`` element by element, 1 operation each."""
