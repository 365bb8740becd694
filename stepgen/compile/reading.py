"""What loads of tensors have in common: parameters, and channels to the arbiter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgen.compile.flags import tiles_out
from stepgen.hw.units.load.params import Load
from stepgen.ir.dtypes import FLAG, Tile, address
from stepgen.ir.stream import Node

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


def add_load(
    node: Node, to: Lowering, depth: int, ref: str | None, *, prompt: bool, **params: Any
) -> None:
    """Add a load that reads the tensor of a node as `params` say.

    Parameters
    ----------
    node : Node
    to : Lowering
    depth : int
        Bus words under way, if the stream says nothing.
    ref : str or None
        Channel of the reference.
    prompt : bool
        Whether nothing uses the stops of what is loaded.
    **params
        Parameters of `Load` that its tensor does not determine.

    Raises
    ------
    StepError
        If the tensor can't be read in this way.
    """
    region, (y,) = to.regions[node.attrs["tensor"]], node.outputs
    tile = y.dtype
    assert isinstance(tile, Tile)
    rows, columns = node.attrs["tile"]
    stored = node.graph.tensors[node.attrs["tensor"]].element
    load = Load(
        region=node.attrs["tensor"],
        base=region.base,
        tile_bytes=rows * columns * tile.element.bytes // stored.packed,
        rows=rows,
        beat_parts=to.lanes_of(node, tile) * tile.element.bytes,
        addresses=tile.element == address,
        packed=stored.packed,
        prompt=prompt and y.dtype != FLAG,
        **params,
    )
    if problem := load.access_problem(to.bus, region):
        raise to.fail(node, problem)
    channels = load.channels(node.name, to.bus, max(y.depth or 2, depth))
    req, data = (to.add(channel) for channel in channels)
    reference = {"ref": ref} if ref else {}
    to.unit(node.name, load, **reference, data=data, out=tiles_out(node, to), req=req)
    to.loads.append((req, data))
