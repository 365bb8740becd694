"""Fork becomes a fork."""

from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One unit with an output per copy."""
    outputs = [to.output(node, port) for port in range(len(node.outputs))]
    to.unit(node.name, "fork", {}, [to.input(node, 0)], outputs)
