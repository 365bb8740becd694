"""A stream from outside becomes a port."""

from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One source."""
    to.unit(node.name, "source", {}, [], [to.output(node)])
