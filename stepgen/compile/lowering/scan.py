"""Scan becomes the unit of its function."""

from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class ScanCircuit(Circuit):
    """One unit, if the function has a circuit."""

    covers = "sums, products, maxima, minima, element by element"

    def lower(self, node: Node, to: Lowering) -> None:
        function = node.attrs["fn"]
        for x in node.inputs:
            if isinstance(x.dtype, Tile):
                to.slices(node, x.dtype)
        streams = (*node.inputs, *node.outputs)
        to.function_unit(node, lambda: function.scan_unit(to.lanes, streams, node.attrs["rank"]))
