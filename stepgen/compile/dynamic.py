"""What stands in front of and behind units of products: limits, slices of rows, turned tiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.hw.design.pace import Extents
from stepgen.hw.design.params import UnitParams
from stepgen.hw.units.join_lanes.params import JoinLanes
from stepgen.hw.units.limit.params import Limit
from stepgen.hw.units.matmul.params import Matmul
from stepgen.hw.units.matvec.params import Matvec
from stepgen.hw.units.split_lanes.params import SplitLanes
from stepgen.hw.units.turn_slices.params import TurnSlices
from stepgen.ir.dtypes import Tile
from stepgen.ir.stream import Node, Stream

if TYPE_CHECKING:
    from stepgen.compile.lower import Lowering


def taken(
    node: Node,
    to: Lowering,
    params: UnitParams,
    port: str,
    stream: Stream,
    channel: str,
    extents: Extents | None = None,
) -> str:
    """The channel of an operand as its unit takes it; only units of products take another one.

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
    tile, dims = stream.dtype, list(extents or to.extents(node, stream))
    if isinstance(params, Matvec):
        return _slices(node, to, params, port, stream, channel, dims)
    if not isinstance(params, Matmul) or not params.dynamic:
        return channel
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
    return _joined(
        node, to, JoinLanes(tile.element.bits, counts, fill), port, stream, channel, dims
    )


def _joined(
    node: Node,
    to: Lowering,
    join: JoinLanes,
    port: str,
    stream: Stream,
    channel: str,
    dims: Extents,
) -> str:
    """The channel of elements that come one by one, as slices."""
    lanes, slices = to.lanes + join.counts, join.slices(dims, to.lanes)
    joined = to.link(node, f"{port}_slices", stream, slices, lanes=lanes)
    to.unit(f"{node.name}_{port}_{join.kind}", join, x=channel, y=joined)
    return joined


def _slices(
    node: Node,
    to: Lowering,
    params: Matvec,
    port: str,
    stream: Stream,
    channel: str,
    dims: Extents,
) -> str:
    """The channel of a row, or of turned weights, in slices of K; of one lane they are that."""
    tile = stream.dtype
    if not (params.turned and to.lanes > 1):
        return channel
    assert isinstance(tile, Tile)
    if port == "w":
        turn = TurnSlices(params.n, tile.element.bits)
        beats, delay = turn.turned(dims, to.lanes), turn.delay(to.lanes)
        turned = to.link(node, turn.kind, stream, beats, delay=delay, lanes=to.lanes)
        to.unit(f"{node.name}_{turn.kind}", turn, x=channel, y=turned)
        return turned
    if not params.dynamic:
        return channel
    return _joined(node, to, JoinLanes(tile.element.bits), port, stream, channel, dims)


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
