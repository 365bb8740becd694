"""Fork becomes a fork."""

from ...hw.units.fork.params import Fork
from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One unit with an output per copy."""
    params = Fork(branches=len(node.outputs))
    ys = {y: to.output(node, port) for port, y in enumerate(params.outputs)}
    to.unit(node.name, params, x=to.input(node, 0), **ys)
