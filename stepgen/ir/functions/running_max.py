"""running_max: the largest element so far, along each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from stepgen.ir.function import Constant


@dataclass(frozen=True)
class RunningMax(Constant):
    """``y[j] = max(x[j], y[j-1] - c)`` in each row: a maximum that decays by `c` per column.

    2 operations per element. With 0 the plain running maximum; with the price of a gap it is what
    dynamic programming does along a row.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """

    c: float = 0

    cost: ClassVar[int] = 2
