"""span: the addresses of a range."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dims import regular, static
from stepgen.ir.dtypes import DataType, Selector, Tile, address
from stepgen.ir.function import Function, Pieces
from stepgen.ir.operator import Call
from stepgen.ir.stream import Routing, Stream

RANGE = Tile(1, 2, address)
"""A range of addresses: its start and its length."""


@dataclass(frozen=True)
class Span(Function):
    """FlatMap only: ``(start, length)`` becomes the addresses start .. start+length-1.

    A range of length 0 becomes an empty group. Streams made of the same ranges have the same dims.
    """

    def stream(self, call: Call, rank: int, element: DataType) -> Pieces:
        """``[1, L]`` scalars; L is ragged unless there is one range only."""
        ranges = range_stream(call, self, rank)
        length, total = call.graph.span(ranges)
        return Pieces((static(1), length), Tile(1, 1, address), total)


def range_stream(call: Call, function: Function, rank: int) -> Stream:
    """The stream of ranges that a use cuts.

    Raises
    ------
    StepError
        Through `call`, if it carries something else or another rank is asked for.
    """
    ranges = call.inputs[0]
    if ranges.dtype != RANGE:
        call.fail(f"{function} needs ranges ({RANGE}: start and length), not {ranges}")
    if rank != 1:
        call.fail(f"{function} makes streams of rank 1, not {rank}")
    return ranges


def one_of_each(call: Call, function: Function, rank: int) -> Pieces:
    """Selectors over 2 consumers, one per address, that name consumer 0 once per range."""
    ranges = range_stream(call, function, rank)
    length, total = call.graph.span(ranges)
    count = ranges.totals[0]
    routing = Routing((regular(count, None), regular(total - count, None)), {})
    return Pieces((static(1), length), Selector(2, hot=1), total, routing)
