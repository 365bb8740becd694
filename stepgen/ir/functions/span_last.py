"""span_last: selectors that tell the last address of a range from the others."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dims import regular, static
from stepgen.ir.dtypes import DataType, Selector
from stepgen.ir.function import Function, Pieces
from stepgen.ir.functions.span import range_stream
from stepgen.ir.operator import Call
from stepgen.ir.stream import Routing


@dataclass(frozen=True)
class SpanLast(Function):
    """FlatMap only: ``(start, length)`` becomes length-1 times consumer 1, then consumer 0.

    So the last tile of a key cache, which is still being filled, goes its own way. A range has to
    have a length of at least 1.
    """

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, L]`` selectors, L being that of `span`; consumer 0 is named once per range."""
        ranges = range_stream(call, self, rank)
        length, total = call.graph.span(ranges)
        count = ranges.totals[0]
        routing = Routing((regular(count, None), regular(total - count, None)), {})
        return Pieces((static(1), length), Selector(2, hot=1), total, routing)
