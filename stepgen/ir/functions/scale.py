"""scale: x times a constant."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.function import Constant


@dataclass(frozen=True)
class Scale(Constant):
    """``x * c``, 1 operation per element.

    Parameters
    ----------
    c : number
        A whole number where the elements are integers.
    """
