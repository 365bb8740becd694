"""A stream to the outside becomes a port."""

from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One sink."""
    to.unit(node.name, "sink", {}, [to.input(node, 0)], [])
