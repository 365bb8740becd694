"""Which streams have no consumer that uses stops: these need not wait for them."""

from __future__ import annotations

from stepgen.compile.circuit import circuit_of
from stepgen.ir.stream import Node, Stream


def stops_unused(stream: Stream) -> bool:
    """Whether no consumer uses the stops of a stream's values.

    A matrix unit counts the beats of its weights, and `drop` the flags of its elements; for units
    that only rewrite stops, without a holding register, it depends on their outputs. A beat of such
    a stream can be sent before its stop is known.
    """
    return all(_ignored(node, index) for node, index in stream.graph.consumers(stream))


def lacks_stops(stream: Stream) -> bool:
    """Whether the values of a stream are sent without the stops of the load's reference."""
    node = stream.resolved().node
    if node.face.reads == "tensor":
        return bool(node.inputs) and stops_unused(node.outputs[0])
    return _rewrites(node) and lacks_stops(node.inputs[0])


def _ignored(node: Node, index: int) -> bool:
    circuit = circuit_of(node)
    ignored = circuit is not None and circuit.ignores_stops(node, index)
    return ignored or (_rewrites(node) and all(stops_unused(y) for y in node.outputs))


def _rewrites(node: Node) -> bool:
    circuit = circuit_of(node)
    return circuit is not None and circuit.only_rewrites_stops(node)
