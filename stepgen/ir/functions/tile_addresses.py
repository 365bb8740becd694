"""tile_addresses: where the tiles of the one that is named lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import sympy

from stepgen.ir.dims import static
from stepgen.ir.dtypes import DataType, Selector, Tile, address
from stepgen.ir.errors import StepError
from stepgen.ir.function import Function, Pieces
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line


@dataclass(frozen=True)
class TileAddresses(Function):
    """FlatMap only: a one-hot selector or a scalar address e becomes e*count .. e*count+count-1.

    With it a region that several experts share finds the weights of the one that is to run
    (paper, section 5.2), where the weights of all experts lie one after the other. Rank 0 strings
    the addresses of all elements together, rank 1 keeps each element's.

    Parameters
    ----------
    count : int
        How many tiles there are for each e.
    """

    count: int

    cuts_selectors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.count < 1:
            raise StepError(
                f"tile_addresses at {user_line()}: count must be at least 1, not {self.count}"
            )

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[count]`` scalars; with a leading 1 for rank 1."""
        one_hot = isinstance(element, Selector) and element.hot in (None, 1)
        if not one_hot and element != Tile(1, 1, address):
            call.fail(
                f"{self} needs one-hot selectors or {Tile(1, 1, address)}, not {call.inputs[0]}"
            )
        if rank > 1:
            call.fail(f"{self} makes streams of rank 0 or 1, not {rank}")
        dims = (static(1),) * rank + (static(self.count),)
        total = call.inputs[0].totals[0] * sympy.Integer(self.count)
        return Pieces(dims, Tile(1, 1, address), total)
