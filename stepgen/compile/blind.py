"""Which streams are used by consumers that look at no stops: those may be sent without."""

from __future__ import annotations

from ..ir.stream import Node, Stream
from .lowering.flatten import holds


def stop_blind(stream: Stream) -> bool:
    """Whether no consumer looks at the stops of a stream's values.

    A matrix unit counts the beats of its weights and a filter the flags of its elements; units that
    only rewrite stops and hold nothing back pass the question on. What then need not wait for a
    stop can be sent at once.
    """
    return all(_blind(node, index) for node, index in stream.graph.consumers(stream))


def comes_blind(stream: Stream) -> bool:
    """Whether the values of a stream come without the stops of a reference that asks for them."""
    node = stream.resolved().node
    if node.op == "linear_offchip_load":
        return bool(node.inputs) and stop_blind(node.outputs[0])
    return _rewrites(node) and comes_blind(node.inputs[0])


def _blind(node: Node, index: int) -> bool:
    if node.op == "map":
        return index in node.attrs["fn"].counted
    if node.op == "flat_map":
        return index == 1
    return _rewrites(node) and all(stop_blind(y) for y in node.outputs)


def _rewrites(node: Node) -> bool:
    """Whether a node rewrites stops at most, and holds nothing back for them."""
    return (
        node.op == "fork"
        or (node.op == "flatten" and not holds(node))
        or (node.op == "promote" and node.attrs["level"] <= node.inputs[0].rank)
    )
