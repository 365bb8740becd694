"""On-chip memory that operators are given, in the numbers of one run."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.applying import SYSTOLIC_ROWS, matmul_memory
from ...ir.dtypes import Buffer, Tile, TupleType
from ...ir.operator import operators
from ...ir.policy import Policy
from ...ir.stream import Node, Stream
from .streams import LOADS

Largest = Callable[[Node], int]
"""Scalars of the largest tile that a node emitted, or of the largest buffer that it filled."""


def allocated(node: Node, policy: Policy, tokens: int, largest: Largest) -> int:
    """Bytes that an operator is given: its symbolic cost with the run's own extents.

    Parameters
    ----------
    node : Node
        The operator.
    policy : Policy
        How bytes are counted.
    tokens : int
        Elements that it emitted.
    largest : Largest
        How large tiles and buffers were.
    """
    cost = operators()[node.op].memory(node, policy)
    if cost.is_Integer:
        return int(cost)
    if node.op in LOADS:
        idle = policy.idle_loads_are_free and tokens == 0
        return 0 if idle else int(node.outputs[0].dtype.bytes) * policy.buffering
    if node.op == "linear_offchip_store":
        return policy.buffering * _element(node.inputs[0], policy, largest)
    if node.op == "bufferize":
        buffer = node.outputs[0].dtype
        assert isinstance(buffer, Buffer)
        each = policy.bytes_per_element(buffer.tile)
        arriving = _element(node.inputs[0], policy, largest)
        return arriving + policy.buffering * largest(node) * each
    state = 0 if node.op == "map" else _element(node.outputs[0], policy, largest)
    return state + (_operands(node, policy, largest) if "fn" in node.attrs else 0)


def _element(stream: Stream, policy: Policy, largest: Largest) -> int:
    """Bytes of the largest element of a stream."""
    stream = stream.resolved()
    dtype, node = stream.dtype, stream.node
    if isinstance(dtype, Tile):
        static = policy.on_chip(dtype)
        return int(static) if static.is_Integer else largest(node) * policy.bytes_per_element(dtype)
    if isinstance(dtype, Buffer) and node.op == "bufferize":
        return largest(node) * dtype.tile.element.bytes
    if isinstance(dtype, TupleType) and node.op == "zip":
        return sum(_element(s, policy, largest) for s in node.inputs)
    if isinstance(dtype, Buffer | TupleType):
        made_of = [s for s in node.inputs if isinstance(s.dtype, type(dtype))]
        return max(_element(s, policy, largest) for s in made_of)
    return int(policy.on_chip(dtype))


def _operands(node: Node, policy: Policy, largest: Largest) -> int:
    """Bytes of a matmul's operands."""
    cost = matmul_memory(node, policy)
    if cost.is_Integer:
        return int(cost)
    streams = node.inputs
    while len(streams) == 1:
        streams = streams[0].resolved().node.inputs[:2]
    x, weight = (s.dtype for s in streams)
    assert isinstance(x, Tile)
    assert isinstance(weight, Tile)
    rows, others = (largest(s.resolved().node) for s in streams)
    # Of the rows that a compute tile holds only the area is known, where both extents vary.
    cols = x.cols.static or rows // (x.rows.static or 1)
    scalars = int(weight.elements) if weight.elements.is_Integer else others
    return SYSTOLIC_ROWS * cols * x.element.bytes + scalars * weight.element.bytes
