"""LinearOffChipStore becomes a store unit."""

from ...hw.units.store.params import Store
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..circuit import Circuit
from ..flags import tiles_in
from ..lower import Lowering


class LinearOffchipStoreCircuit(Circuit):
    """One store, with its channels to the arbiter."""

    def lower(self, node: Node, to: Lowering) -> None:
        (x,) = node.inputs
        tile = x.dtype
        assert isinstance(tile, Tile)
        tensor = node.graph.tensors[node.attrs["tensor"]]
        region = to.regions[tensor.name]
        columns, lanes = to.columns(node, tile), to.lanes_of(node, tile)
        row_bytes = columns * tile.element.bytes if columns % lanes else 0
        params = Store(region=tensor.name, base=region.base, size=region.size, row_bytes=row_bytes)
        if problem := params.access_problem(to.bus, 8 * lanes * tile.element.bytes, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, 2 * to.bus.burst)
        wreq, wdata, ack = (to.add(channel) for channel in channels)
        to.unit(node.name, params, x=tiles_in(node, to, 0), ack=ack, wreq=wreq, wdata=wdata)
        to.stores.append((wreq, wdata, ack))
