"""What the golden model of a function gets beside its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgen.ir.dtypes import DataType, Tile


@dataclass(frozen=True)
class Setting:
    """The setting of a golden model: result type and lanes.

    Attributes
    ----------
    out : DataType
        Type of the result; results are converted to a tile's element type.
    dtype : numpy.dtype
        numpy's type of the resulting scalars.
    lanes : int
        Lanes L of a slice, for the order of sums.
    given : DataType or None
        Type of the first operand, where an operator applies the function.
    """

    out: DataType
    dtype: np.dtype[Any]
    lanes: int
    given: DataType | None = None

    @property
    def element(self) -> str:
        """Name of the result's element type."""
        return self.tile.element.name

    @property
    def tile(self) -> Tile:
        """Type of the resulting tile."""
        assert isinstance(self.out, Tile)
        return self.out
