"""LinearOffChipStore becomes a store unit."""

from ...hw.units.store.params import Store
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..circuit import Circuit
from ..lower import Lowering


class LinearOffchipStoreCircuit(Circuit):
    """One store, with its channels to the arbiter."""

    def lower(self, node: Node, to: Lowering) -> None:
        (x,) = node.inputs
        tile = x.dtype
        assert isinstance(tile, Tile)
        tensor = node.graph.tensors[node.attrs["tensor"]]
        region = to.regions[tensor.name]
        params = Store(region=tensor.name, base=region.base, size=region.size)
        to.unpadded(node, tile, "a store")
        if tile.element.bits < 8:
            raise to.fail(
                node,
                f"a store has no circuit yet for {tile}, whose elements take a byte of memory each "
                f"and {tile.element.bits} bit of a beat",
            )
        if problem := params.access_problem(to.bus, to.lanes * tile.element.bits, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, 2 * to.bus.burst)
        wreq, wdata, ack = (to.add(channel) for channel in channels)
        to.unit(node.name, params, x=to.input(node, 0), ack=ack, wreq=wreq, wdata=wdata)
        to.stores.append((wreq, wdata, ack))
