"""span_first: selectors that tell the first address of a range from the others."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dtypes import DataType
from stepgen.ir.function import Function, Pieces
from stepgen.ir.functions.span import one_of_each
from stepgen.ir.operator import Call


@dataclass(frozen=True)
class SpanFirst(Function):
    """FlatMap only: ``(start, length)`` becomes consumer 0, then length-1 times consumer 1.

    So a loop over a range takes what it starts from, and afterwards what comes back. A range has
    to have a length of at least 1.
    """

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, L]`` selectors, L being that of `span`; consumer 0 is named once per range."""
        return one_of_each(call, self, rank)
