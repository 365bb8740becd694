"""Types and costs that the operators which apply functions have in common."""

from __future__ import annotations

from collections.abc import Sequence

from stepgen.ir.dims import times
from stepgen.ir.dtypes import DataType, Selector, Tile, address
from stepgen.ir.expr import Expr, as_expr, constant
from stepgen.ir.function import Function, Mapped
from stepgen.ir.operator import Call, Operator, Sizes
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Stream

SYSTOLIC_ROWS = 16
"""Rows of the paper's compute tile, each with a row of the operand."""


def operands_of(call: Call, function: Function, streams: Sequence[Stream]) -> list[DataType]:
    """The operands of a function that is mapped: tiles, or selectors if it takes these.

    Raises
    ------
    StepError
        Through `call`, if a stream has other elements.
    """
    leaves = [dtype for stream in streams for dtype in stream.dtype.leaves]
    selects = isinstance(function, Mapped) and function.maps_selectors
    if selects and all(isinstance(dtype, Selector) for dtype in leaves):
        return leaves
    return [*tiles_of(call, streams)]


def tiles_of(call: Call, streams: Sequence[Stream]) -> list[Tile]:
    """The operand tiles of a function; of a tuple its items.

    Raises
    ------
    StepError
        Through `call`, if a stream has other elements.
    """
    tiles: list[Tile] = []
    for stream in streams:
        for dtype in stream.dtype.leaves:
            if not isinstance(dtype, Tile):
                call.fail(f"functions work on tiles, but {stream.name} is {stream}")
            tiles.append(dtype)
    return tiles


def over_all(streams: Sequence[Stream], each: Expr | int) -> Expr:
    """The sum of an extent over all elements of streams of one shape.

    Parameters
    ----------
    streams : sequence of Stream
        Their ragged tile dims have known sums.
    each : Expr or int
        The extent for one element.
    """
    count, each = streams[0].totals[0], as_expr(each)
    for stream in streams:
        if not isinstance(stream.dtype, Tile):
            continue
        rows, cols = stream.dtype.dims
        for mine, other in ((rows, cols), (cols, rows)):
            linear = None if other.is_ragged else each.linear_in(mine.expr)
            if mine.is_ragged and linear is not None:
                slope, rest = linear
                return slope * stream.volume / other.expr + rest * count
    return times([count, each])


class Applying(Operator):
    """An operator that applies its function to every element of its inputs."""

    def steered_by(self, node: Node) -> Sequence[int]:
        """Inputs whose numbers the function computes with."""
        return range(len(node.inputs)) if _reads_numbers(node) else ()

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """Whether the result depends on structure, on numbers or on data."""
        function: Function = node.attrs["fn"]
        if function.structural:
            return ()
        return range(len(node.inputs)) if _reads_numbers(node) else None

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """The state, and the operands."""
        return sizes.element(node.outputs[0]) + sizes.operands(node)

    def flops(self, node: Node, policy: Policy) -> Expr:
        """The sum over all elements of the inputs."""
        function: Function = node.attrs["fn"]
        total = over_all(node.inputs, function.flops(*_tiles(node)))
        if policy.silu_per_inner and function.per_inner:
            total *= _inner_of_producer(node.inputs[0])
        return total


def _reads_numbers(node: Node) -> bool:
    """Whether the function computes with addresses, or with the bits of selectors."""
    function: Function = node.attrs["fn"]
    types = [stream.dtype for stream in node.inputs]
    chooses = isinstance(node.outputs[0].dtype, Selector) and types == [address[1, 1]]
    return chooses or function.reads_numbers or function.calculation(*types) is not None


def _inner_of_producer(stream: Stream) -> Expr:
    made_by = stream.origin.node
    function = made_by.attrs.get("fn")
    return function.inner(*_tiles(made_by)) if isinstance(function, Function) else constant(1)


def matmul_memory(node: Node, policy: Policy) -> Expr:
    """Bytes of a matmul's weight tile and operand rows, if the policy counts them."""
    function: Function = node.attrs["fn"]
    return function.held(*_tiles(node)) if policy.matmul_state else constant(0)


def _tiles(node: Node) -> list[Tile]:
    return [d for s in node.inputs for d in s.dtype.leaves if isinstance(d, Tile)]
