"""What FlatMap makes of an element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from stepgen.ir.dims import Dim
from stepgen.ir.dtypes import DataType
from stepgen.ir.expr import Expr

if TYPE_CHECKING:
    from stepgen.ir.stream import Routing

Parts = Literal["typed", "rows", "cols", "tiles", "range", "first", "last", "bits"]
"""Pieces of an element: as the type rule says; the rows or columns of a tile; the addresses of as
many tiles as the parameter ``count`` for a number; for a range its addresses, or selectors of
its first or last one; a selector for each bit of one. Pieces by columns have as many as the
parameter ``c``, or one."""


@dataclass(frozen=True)
class Pieces:
    """The stream that FlatMap makes of one element.

    Attributes
    ----------
    dims : tuple of Dim
        Its shape, outermost first.
    dtype : DataType
        Type of its elements.
    total : Expr or None
        Number of pieces of all elements of the run, if it does not follow from the dims.
    routing : Routing or None
        Routing of pieces that are selectors.
    """

    dims: tuple[Dim, ...]
    dtype: DataType
    total: Expr | None = None
    routing: Routing | None = None
