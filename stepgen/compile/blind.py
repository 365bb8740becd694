"""Which streams are used by consumers that look at no stops: those may be sent without."""

from __future__ import annotations

from ..ir.stream import Node, Stream
from .circuit import circuits


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
    if node.face.reads == "tensor":
        return bool(node.inputs) and stop_blind(node.outputs[0])
    return _rewrites(node) and comes_blind(node.inputs[0])


def _blind(node: Node, index: int) -> bool:
    circuit = circuits().get(node.op)
    ignored = circuit is not None and circuit.ignores_stops(node, index)
    return ignored or (_rewrites(node) and all(stop_blind(y) for y in node.outputs))


def _rewrites(node: Node) -> bool:
    circuit = circuits().get(node.op)
    return circuit is not None and circuit.only_rewrites_stops(node)
