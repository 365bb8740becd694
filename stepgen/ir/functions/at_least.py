"""at_least: the larger of each element and a constant."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.function import Constant


@dataclass(frozen=True)
class AtLeast(Constant):
    """``max(x, c)``, 1 operation per element; with 0 the rectifier of neural networks.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """
