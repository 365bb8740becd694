"""Promote becomes a stop unit."""

from ...hw.units.promote.params import Promote
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One stop unit."""
    (x,) = node.inputs
    level = node.attrs["level"]
    params = Promote(level=wire_levels(x.dtype) + level, outermost=level > x.rank)
    to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))
