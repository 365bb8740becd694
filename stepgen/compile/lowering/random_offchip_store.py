"""RandomOffChipStore becomes a store unit that writes a tile to each address."""

from ...hw.design.by_address import in_flight
from ...hw.units.random_store.params import RandomStore
from ...ir.dtypes import Tile, address
from ...ir.offchip import tiles_of
from ...ir.stream import Node
from ..circuit import Circuit
from ..flags import tiles_in
from ..lower import Lowering


class RandomOffchipStoreCircuit(Circuit):
    """One store, with its channels to the arbiter, and its flags."""

    def lower(self, node: Node, to: Lowering) -> None:
        tile = node.inputs[1].dtype
        assert isinstance(tile, Tile)
        region = to.regions[node.attrs["tensor"]]
        tiles, (rows, columns) = tiles_of(node), node.attrs["tile"]
        _, ahead = in_flight(to.bus, region.size // tiles)
        params = RandomStore(
            region=node.attrs["tensor"],
            base=region.base,
            rows=rows,
            row_bytes=columns * tile.element.bytes,
            tiles=tiles,
            ahead=ahead,
            addresses=tile.element == address,
        )
        beat_bits = 8 * to.lanes_of(node, tile) * tile.element.bytes
        if problem := params.access_problem(to.bus, beat_bits, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, 2 * to.bus.burst)
        wreq, wdata, ack = (to.add(channel) for channel in channels)
        inputs = {"at": to.input(node, 0), "x": tiles_in(node, to, 1)}
        to.unit(node.name, params, **inputs, ack=ack, y=to.output(node), wreq=wreq, wdata=wdata)
        to.within.append(len(to.stores))
        to.stores.append((wreq, wdata, ack))
