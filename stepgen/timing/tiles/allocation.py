"""On-chip memory allocated to operators, for the sizes of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepgen.ir.applying import SYSTOLIC_ROWS, matmul_memory
from stepgen.ir.dtypes import Buffer, Tile, TupleType
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Stream

Largest = Callable[[Node], int]
"""Scalars of the largest tile that a node emitted, or of the largest buffer that it filled."""


def allocated(node: Node, policy: Policy, tokens: int, largest: Largest) -> int:
    """On-chip bytes of an operator: its symbolic cost, with the extents of the run.

    Parameters
    ----------
    node : Node
        The operator.
    policy : Policy
        The accounting model.
    tokens : int
        Elements that it emitted.
    largest : Largest
        Largest tile or buffer of each node.
    """
    cost = node.face.memory(node, policy)
    if cost.integer is not None:
        return int(cost)
    return node.face.measured_memory(node, _Run(policy, tokens, largest))


@dataclass(frozen=True)
class _Run:
    """The sizes of one run (`stepgen.ir.operator.Sizes`)."""

    policy: Policy
    tokens: int
    of_node: Largest

    def largest(self, node: Node) -> int:
        return self.of_node(node)

    def element(self, stream: Stream) -> int:
        stream = stream.resolved()
        dtype, node = stream.dtype, stream.node
        if isinstance(dtype, Tile):
            static = self.policy.on_chip(dtype)
            each = self.policy.bytes_per_element(dtype)
            return int(static) if static.integer is not None else self.largest(node) * each
        if isinstance(dtype, Buffer | TupleType):
            return node.face.measured_element(node, self)
        return int(self.policy.on_chip(dtype))

    def operands(self, node: Node) -> int:
        cost = matmul_memory(node, self.policy)
        if cost.integer is not None:
            return int(cost)
        streams = node.inputs
        while len(streams) == 1:
            streams = streams[0].resolved().node.inputs[:2]
        x, weight = (s.dtype for s in streams)
        assert isinstance(x, Tile)
        assert isinstance(weight, Tile)
        rows, others = (self.largest(s.resolved().node) for s in streams)
        # If both extents vary, only the area of the rows in a compute tile is known.
        cols = x.cols.static or rows // (x.rows.static or 1)
        scalars = int(weight.elements) if weight.elements.integer is not None else others
        return SYSTOLIC_ROWS * cols * x.element.bytes + scalars * weight.element.bytes
