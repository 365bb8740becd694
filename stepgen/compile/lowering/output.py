"""A stream to the outside becomes a port."""

from ...hw.units.sink.params import Sink
from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One sink."""
    to.unit(node.name, Sink(), x=to.input(node, 0))
