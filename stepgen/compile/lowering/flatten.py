"""Flatten becomes a unit that rewrites stops."""

from ...hw.units.flatten.params import Flatten
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering


class FlattenCircuit(Circuit):
    """One unit, with a holding register only where an inner dim may be empty."""

    moves = True
    restructures = True

    def lower(self, node: Node, to: Lowering) -> None:
        base, lo, hi = wire_levels(node.inputs[0].dtype), node.attrs["lo"], node.attrs["hi"]
        params = Flatten(lo=base + lo, hi=base + hi, hold=_holds(node))
        to.unit(node.name, params, x=to.input(node, 0), y=to.output(node))

    def only_rewrites_stops(self, node: Node) -> bool:
        """Unless an inner dim may be empty."""
        return not _holds(node)


def _holds(node: Node) -> bool:
    """Whether the last beat of an inner group may have to wait for the stop of an outer one."""
    (x,) = node.inputs
    lo, hi = node.attrs["lo"], node.attrs["hi"]
    return hi < x.rank and any(x.dim(level).may_be_empty for level in range(lo, hi))
