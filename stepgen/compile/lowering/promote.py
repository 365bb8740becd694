"""Promote becomes a unit that rewrites stops."""

from ...hw.units.promote.params import Promote
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class PromoteCircuit(Circuit):
    """One unit, with a holding register for an outermost dim."""

    moves = True
    restructures = True

    def lower(self, node: Node, to: Lowering) -> None:
        (x,) = node.inputs
        level = node.attrs["level"]
        params = Promote(level=wire_levels(x.dtype) + level, outermost=level > x.rank)
        to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))

    def only_rewrites_stops(self, node: Node) -> bool:
        """Unless the dim is the outermost, whose stop is known only at the end."""
        return bool(node.attrs["level"] <= node.inputs[0].rank)
