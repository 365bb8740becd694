"""Promote becomes a stop unit."""

from ...ir.stream import Node
from ..lower import Lowering


def lower(node: Node, to: Lowering) -> None:
    """One stop unit."""
    (x,) = node.inputs
    level = node.attrs["level"]
    params = {"level": to.base_level(x.dtype) + level, "outermost": level > x.rank}
    to.unit(node.name, "promote", params, [to.input(node, 0)], [to.output(node)])
