"""LinearOffChipStore becomes a store unit."""

from ...ir.dtypes import Tile
from ...ir.stream import Node
from ..lower import Lowering
from ..units import store


def lower(node: Node, to: Lowering) -> None:
    """One store, and its place in the line of those that share the bus."""
    (x,) = node.inputs
    tile = x.dtype
    assert isinstance(tile, Tile)
    tensor = node.graph.tensors[node.attrs["tensor"]]
    region = to.regions[tensor.name]
    params = store.parameters(region=tensor.name, base=region.base, size=region.size)
    to.slices(node, tile)
    if problem := store.problem(params, to.bus, to.lanes * tile.element.bits):
        raise to.fail(node, problem)
    channels = store.channels(node.name, to.bus, 2 * to.bus.burst)
    request, data, ack = (to.add(channel) for channel in channels)
    to.unit(node.name, "store", params, [to.input(node, 0), ack], [request, data])
    to.stores.append((request, data, ack))
