"""LinearOffChipLoad becomes a load unit."""

from ...ir.dtypes import Tile
from ...ir.stream import Node
from ...ir.wire import wire_levels
from ..blind import stop_blind
from ..lower import Lowering
from ..units import load


def lower(node: Node, to: Lowering) -> None:
    """One load, and its place in the line of those that share the bus."""
    (y,) = node.outputs
    tile = y.dtype
    assert isinstance(tile, Tile)
    tensor = node.graph.tensors[node.attrs["tensor"]]
    region = to.regions[tensor.name]
    ref = node.inputs[0] if node.inputs else None
    params = load.parameters(
        region=tensor.name,
        base=region.base,
        tile_bytes=region.tile[0] * region.tile[1] * tile.element.bytes,
        rows=region.tile[0],
        slices=to.slices(node, tile),
        shape=node.attrs["shape"],
        stride=node.attrs["stride"],
        ref_level=wire_levels(ref.dtype) if ref else None,
        ref_rank=ref.rank + wire_levels(ref.dtype) if ref else None,
        prompt=ref is not None and stop_blind(y),
    )
    beat_bits = to.lanes * tile.element.bits
    if problem := load.problem(params, to.bus, beat_bits, region.size):
        raise to.fail(node, problem)
    request, data = load.channels(node.name, to.bus, max(y.depth or 2, 2 * to.bus.burst))
    line = to.add(request), to.add(data)
    inputs = [to.input(node, 0, structure_only=True)] if ref else []
    to.unit(node.name, "load", params, [*inputs, line[1]], [to.output(node), line[0]])
    to.loads.append(line)
