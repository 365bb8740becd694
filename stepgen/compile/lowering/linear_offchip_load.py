"""LinearOffChipLoad becomes a load unit."""

from ...hw.units.load.params import Load
from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..circuit import Circuit
from ..lower import Lowering
from ..stop_use import stops_unused


class LinearOffchipLoadCircuit(Circuit):
    """One load, with its channels to the arbiter."""

    moves = True

    def lower(self, node: Node, to: Lowering) -> None:
        (y,) = node.outputs
        tile = y.dtype
        assert isinstance(tile, Tile)
        if not wire_levels(tile):
            raise to.fail(node, f"flags, such as {y.name}, can't be loaded by a circuit yet")
        tensor = node.graph.tensors[node.attrs["tensor"]]
        region = to.regions[tensor.name]
        ref = node.inputs[0] if node.inputs else None
        params = Load(
            region=tensor.name,
            base=region.base,
            tile_bytes=region.tile[0] * region.tile[1] * tile.element.bytes,
            rows=region.tile[0],
            beat_bytes=to.lanes * tile.element.bytes,
            shape=node.attrs["shape"],
            stride=node.attrs["stride"],
            ref_level=wire_levels(ref.dtype) if ref else None,
            prompt=ref is not None and stops_unused(y),
        )
        if problem := params.access_problem(to.bus, region):
            raise to.fail(node, problem)
        channels = params.channels(node.name, to.bus, max(y.depth or 2, 2 * to.bus.burst))
        req, data = (to.add(channel) for channel in channels)
        told = {"ref": to.input(node, 0, structure_only=True)} if ref else {}
        to.unit(node.name, params, **told, data=data, out=to.output(node), req=req)
        to.loads.append((req, data))
