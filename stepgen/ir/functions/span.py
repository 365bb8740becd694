"""span: the addresses of a range."""

from __future__ import annotations

from dataclasses import dataclass

from stepgen.ir.dims import static
from stepgen.ir.dtypes import DataType, Tile, address
from stepgen.ir.function import Function, Pieces
from stepgen.ir.operator import Call
from stepgen.ir.stream import Stream

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
