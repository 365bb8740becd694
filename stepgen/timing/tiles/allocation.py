"""On-chip memory that operators are given, in the numbers of one run."""

from __future__ import annotations

from ...ir.applying import matmul_memory
from ...ir.dtypes import Buffer, Tile
from ...ir.operator import operators
from ...ir.policy import Policy
from ...ir.stream import Node


def allocated(node: Node, policy: Policy, tokens: int, largest: int) -> int:
    """Bytes that an operator is given: its symbolic cost with the run's own extents.

    Parameters
    ----------
    node : Node
        The operator.
    policy : Policy
        How bytes are counted.
    tokens : int
        Elements that it emitted.
    largest : int
        Scalars of the largest tile that it emitted, or of the largest buffer that it filled.
    """
    cost = operators()[node.op].memory(node, policy)
    if cost.is_Integer:
        return int(cost)
    if node.op in ("linear_offchip_load", "random_offchip_load"):
        idle = policy.idle_loads_are_free and tokens == 0
        return 0 if idle else int(node.outputs[0].dtype.bytes) * policy.buffering
    dtype = node.inputs[0].dtype if node.op == "linear_offchip_store" else node.outputs[0].dtype
    if isinstance(dtype, Buffer):
        each = policy.bytes_per_element(dtype.tile)
        return int(policy.on_chip(dtype.tile)) + policy.buffering * largest * each
    assert isinstance(dtype, Tile)
    held = largest * policy.bytes_per_element(dtype)
    if node.op == "linear_offchip_store":
        held *= policy.buffering
    state = matmul_memory(node, policy) if node.op in ("map", "accum", "scan") else 0
    return held + int(state) if node.op != "map" else int(state)
