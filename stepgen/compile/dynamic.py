"""Tiles of dynamic extents in front of and behind a matrix unit: limits, and slices of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..hw.design.pace import Extents
from ..hw.design.params import UnitParams
from ..hw.units.join_lanes.params import JoinLanes
from ..hw.units.limit.params import Limit
from ..hw.units.matmul.params import Matmul
from ..hw.units.split_lanes.params import SplitLanes
from ..ir.dtypes import Tile
from ..ir.stream import Node, Stream
from .lower import Lowering


def taken(
    node: Node,
    to: Lowering,
    params: UnitParams,
    port: str,
    stream: Stream,
    channel: str,
    extents: Extents | None = None,
) -> str:
    """The channel of an operand as its unit takes it; only a matrix unit takes another one.

    Parameters
    ----------
    node : Node
    to : Lowering
    params : UnitParams
    port : str
        Of the unit.
    stream : Stream
        The operand.
    channel : str
        Its channel.
    extents : sequence of Extent, optional
        The dims of the channel, by default those of the stream.
    """
    if not isinstance(params, Matmul) or not params.dynamic:
        return channel
    tile, dims = stream.dtype, list(extents or to.extents(node, stream))
    assert isinstance(tile, Tile)
    if port == params.weights:
        rows, cols = (params.n, params.k) if params.transposed else (params.k, params.n)
        for dim, most, level in ((tile.rows, rows, 1), (tile.cols, cols, 0)):
            if dim.static is None and (dim.bound is None or dim.bound > most):
                label = f"{port}_{'rows' if level else 'cols'}"
                dims[level] = replace(dims[level], bound=most)
                passed = to.link(node, label, stream, dims)
                to.unit(f"{node.name}_{label}", Limit(most, level), x=channel, y=passed)
                channel = passed
    if tile.cols.static is not None or to.lanes == 1:
        return channel
    counts = port == params.weights and params.counting(to.lanes)[0]
    fill = 0 if port == params.weights else params.padding
    join = JoinLanes(tile.element.bits, counts, fill)
    joined = to.link(
        node, f"{port}_slices", stream, join.slices(dims, to.lanes), lanes=to.lanes + counts
    )
    to.unit(f"{node.name}_{port}_{join.kind}", join, x=channel, y=joined)
    return joined


def given(
    node: Node,
    to: Lowering,
    params: UnitParams,
    stream: Stream,
    extents: Extents,
    make: Callable[[int], str],
) -> str:
    """The channel into which a unit writes, if `make` makes that of its result by its delay.

    `stream` is what the result has the format of, `extents` are its dims.
    """
    delay = params.delay(to.lanes)
    if not isinstance(params, Matmul) or not params.counting(to.lanes)[1]:
        return make(delay)
    assert isinstance(stream.dtype, Tile)
    split, join = SplitLanes(stream.dtype.element.bits), JoinLanes(stream.dtype.element.bits)
    slices = join.slices(extents, to.lanes)
    made = to.link(node, "slices", stream, slices, lanes=to.lanes + 1, delay=delay)
    to.unit(f"{node.name}_{split.kind}", split, x=made, y=make(0))
    return made
