"""compare: pairs compared."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import Tile, bool_
from stepgen.ir.errors import StepError
from stepgen.ir.function import Binary
from stepgen.ir.operator import Call
from stepgen.ir.where import user_line

COMPARISONS = ("lt", "le", "eq", "ne", "ge", "gt")


@dataclass(frozen=True)
class Compare(Binary):
    """``a op b`` as bool, 1 operation per element.

    Parameters
    ----------
    op : {"lt", "le", "eq", "ne", "ge", "gt"}
        Less than, less or equal, equal, not equal, greater or equal, greater than.
    """

    op: str

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            some = ", ".join(COMPARISONS)
            raise StepError(f"compare at {user_line()}: op must be one of {some}, not {self.op!r}")

    def tile(self, call: Call, *tiles: Tile) -> Tile:
        """A tile of bool."""
        both = super().tile(call, *tiles)
        return Tile(both.rows, both.cols, bool_)
