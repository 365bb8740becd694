"""RandomOffChipLoad becomes a load unit that reads a tile for each address."""

from ...hw.design.by_address import in_flight
from ...ir.dtypes import Tile
from ...ir.offchip import tiles_of
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering
from ..reading import add_load
from ..stop_use import stops_unused


class RandomOffchipLoadCircuit(Circuit):
    """One load, which has so many tiles under way that it covers the latency of the memory."""

    def lower(self, node: Node, to: Lowering) -> None:
        tiles, size = tiles_of(node), to.regions[node.attrs["tensor"]].size
        tile, stored = node.outputs[0].dtype, node.graph.tensors[node.attrs["tensor"]].element
        assert isinstance(tile, Tile)
        beat = to.lanes_of(node, tile) * tile.element.bytes / stored.packed
        words, ahead = in_flight(to.bus, size // tiles, beat)
        add_load(
            node,
            to,
            words,
            to.input(node, 0),
            shape=(),
            stride=(),
            ref_level=0,
            ahead=ahead,
            prompt=stops_unused(node.outputs[0]),
            tiles=tiles,
        )
