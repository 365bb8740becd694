"""What loads of tensors have in common: parameters, and channels to the arbiter."""

from __future__ import annotations

from typing import Any

from ..hw.design.table import Region
from ..hw.units.load.params import Load
from ..ir.dtypes import Tile, address
from ..ir.stream import Node
from ..ir.wire import wire_levels
from .lower import Lowering


def region_of(node: Node, to: Lowering) -> Region:
    """Where the tensor of a load lies.

    Raises
    ------
    StepError
        If its tiles have no circuit.
    """
    tile = node.outputs[0].dtype
    assert isinstance(tile, Tile)
    if not wire_levels(tile) and tile.element != address:
        raise to.fail(
            node, f"flags, such as {node.outputs[0].name}, can't be loaded by a circuit yet"
        )
    return to.regions[node.attrs["tensor"]]


def add_load(node: Node, to: Lowering, depth: int, ref: str | None, **params: Any) -> None:
    """Add a load that reads the tensor of a node as `params` say.

    Parameters
    ----------
    node : Node
    to : Lowering
    depth : int
        Bus words under way, if the stream says nothing.
    ref : str or None
        Channel of the reference.
    **params
        Parameters of `Load` that its tensor does not determine.

    Raises
    ------
    StepError
        If the tensor can't be read in this way.
    """
    region, (y,) = region_of(node, to), node.outputs
    tile = y.dtype
    assert isinstance(tile, Tile)
    rows, columns = region.tile
    numbers = tile.element == address
    stored = node.graph.tensors[node.attrs["tensor"]].element
    if to.lanes < stored.packed:
        raise to.fail(node, f"a beat of 1 lane of {stored} ends within a byte")
    load = Load(
        region=node.attrs["tensor"],
        base=region.base,
        tile_bytes=rows * columns * tile.element.bytes // stored.packed,
        rows=rows,
        beat_bytes=(columns if numbers else to.lanes) * tile.element.bytes // stored.packed,
        addresses=numbers,
        packed=stored.packed,
        **params,
    )
    if problem := load.access_problem(to.bus, region):
        raise to.fail(node, problem)
    channels = load.channels(node.name, to.bus, max(y.depth or 2, depth))
    req, data = (to.add(channel) for channel in channels)
    told = {"ref": ref} if ref else {}
    to.unit(node.name, load, **told, data=data, out=to.output(node), req=req)
    to.loads.append((req, data))
