"""bufferize: stores chunks in on-chip memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stepgen.ir.dims import show_shape
from stepgen.ir.dtypes import Buffer
from stepgen.ir.expr import Expr, product_of
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, Sizes, public
from stepgen.ir.policy import Policy
from stepgen.ir.stream import Node, Out, Stream
from stepgen.ir.tile_order import TileOrder

if TYPE_CHECKING:
    from stepgen.ir.ordering import Ordering


class Bufferize(Operator):
    """``[D_a..D_0]`` -> ``[D_a..D_b]`` of buffers ``[D_{b-1}..D_0]``.

    Attributes of a node: ``rank``, and ``most`` where there is one.
    """

    writes = "buffer"

    def infer(self, call: Call) -> Sequence[Out]:
        """Only the outermost dim of a buffer may be ragged."""
        x = call.inputs[0]
        rank, tile = call.level("rank", x, 1), call.tile(x)
        split = len(x.shape) - rank
        held = x.shape[split:]
        for index, dim in enumerate(held[1:], 1):
            if dim.is_ragged:
                call.fail(
                    f"{x.name} has shape {show_shape(x.shape)}, whose dim D{rank - 1 - index} of "
                    f"{dim} is ragged, but of a buffer {show_shape(held)} only the outermost may be"
                )
        buffer = Buffer(tile, held)
        if call.attrs.get("most") is not None:
            most, rows = call.integer("most", 1), buffer.fewest_rows
            if rows > most:
                call.fail(
                    f"there is to be memory for {most} rows of a buffer, but each of {x.name} has "
                    f"at least {rows}"
                )
        return [Out(x.shape[:split], buffer, dict(enumerate(x.totals[rank:])), x.volume)]

    def chunks(self, node: Node, rank: int) -> int:
        """The stored dims are inside of each buffer."""
        return rank + int(node.attrs["rank"])

    def memory(self, node: Node, policy: Policy) -> Expr:
        """The buffers in use, and one tile at the input (paper, table of metrics)."""
        buffer = node.outputs[0].dtype
        assert isinstance(buffer, Buffer)
        tile = policy.on_chip(buffer.tile)
        tiles = product_of(*(d.expr for d in buffer.shape))
        return tile + policy.buffering * tiles * tile

    def measured_memory(self, node: Node, sizes: Sizes) -> int:
        """The same, with each buffer of the largest size."""
        buffer, policy = node.outputs[0].dtype, sizes.policy
        assert isinstance(buffer, Buffer)
        each = policy.bytes_per_element(buffer.tile)
        return sizes.element(node.inputs[0]) + policy.buffering * sizes.largest(node) * each

    def measured_element(self, node: Node, sizes: Sizes) -> int:
        """The largest buffer."""
        buffer = node.outputs[0].dtype
        assert isinstance(buffer, Buffer)
        return sizes.largest(node) * buffer.tile.element.bytes

    def order(self, of: Ordering) -> TileOrder:
        """The same tiles, held."""
        return replace(of.input(), held=of.attrs["rank"])


@public
def bufferize(x: Stream, *, rank: int, most: int | None = None, name: str | None = None) -> Stream:
    """Store each rank-`rank` chunk and pass on a reference to it.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]`` of tiles.
    rank : int
        b, the rank of a chunk, at least 1.
    most : int, optional
        Rows of a buffer that there is memory for, over all of its tiles; an empty tile or group
        takes one, too. A run with a larger buffer stops with an error. By default as many as the
        types allow, which must have a bound in a circuit.
    name : str, optional
        Name of the node.

    Returns
    -------
    Stream
        ``[D_a..D_b]`` of buffers, which `streamify` reads.

    Raises
    ------
    StepError
        If an inner dim of the buffers is ragged, or all of them have more rows than `most`.

    Notes
    -----
    Bufferize (paper, section 3). References may be routed, merged and reordered before they are
    read; a chunk stays in memory until its last reader is through.

    Examples
    --------
    >>> g = sg.Graph()
    >>> x = g.input("x", sg.int8[8, 8], (4, 3))
    >>> x.bufferize(rank=1).streamify(count=2)
    <streamify_0.0 Stream[int8 8x8; 4, 2, 3]>
    """
    attrs = {"rank": rank} if most is None else {"rank": rank, "most": most}
    return build("bufferize", (x,), attrs, name)[0]
