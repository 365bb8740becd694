"""A stream from outside becomes a port."""

from ...hw.units.source.params import Source
from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One source."""
    to.unit(node.name, Source(), y=to.output(node))
