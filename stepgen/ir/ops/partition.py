"""partition: routes chunks to the consumers that their selector names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.dims import Dim, times
from stepgen.ir.dtypes import Buffer, DataType, Tile
from stepgen.ir.graph import build
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Routing, Stream


class Partition(Operator):
    """x ``[D_a..D_0]``, sel ``[D_a..D_b]`` -> n streams ``[E_i, D_{b-1}..D_0]``.

    Attributes of a node: ``rank``, ``num_consumers``.
    """

    is_main: ClassVar[bool] = True

    def infer(self, call: Call) -> Sequence[Out]:
        """One output per consumer; E_i depends on the selectors only."""
        x, sel = call.inputs
        rank = call.level("rank", x)
        n = call.selector(sel).n
        if call.attrs["num_consumers"] is None:
            call.attrs["num_consumers"] = n
        if call.attrs["num_consumers"] != n:
            call.fail(
                f"num_consumers is {call.attrs['num_consumers']}, but {sel.name} is {sel} with "
                f"{n} consumers"
            )
        outer = x.shape[: len(x.shape) - rank]
        call.same_dims(outer, sel.shape, f"{x.name} above rank {rank}", sel.name, lowest=rank)
        routing = call.graph.routing(sel)
        return [_out(x, rank, routing, i) for i in range(n)]

    def steers(self, node: Node, index: int) -> bool:
        """The selectors do."""
        return index == 1

    def steered_by(self, node: Node) -> Sequence[int]:
        """The selectors."""
        return (1,)

    def ends_with(self, node: Node) -> Sequence[int]:
        """The routed stream, so that a loop through the selectors ends."""
        return (0,)


def _out(x: Stream, rank: int, routing: Routing, index: int) -> Out:
    inner = x.shape[len(x.shape) - rank :]
    shape = (routing.counts[index], *(_of_input(d, routing, index) for d in inner))
    dtype: DataType = x.dtype
    if not isinstance(dtype, (Tile, Buffer)):
        return Out(shape, dtype)
    tile, held = (dtype.tile, dtype.shape) if isinstance(dtype, Buffer) else (dtype, ())
    rows, cols = (_of_input(d, routing, index) for d in tile.dims)
    held = tuple(_of_input(d, routing, index) for d in held)
    volume, others = None, (cols, *shape, *held)
    if tile.rows in routing.sums and not any(d.is_ragged for d in others):
        per_row = [cols.expr, *(d.expr for d in (*shape[1:], *held))]
        volume = times([routing.sums[tile.rows][index], *per_row])
    tile = Tile(rows, cols, tile.element)
    dtype = Buffer(tile, held) if isinstance(dtype, Buffer) else tile
    return Out(shape, dtype, volume=volume)


def _of_input(dim: Dim, routing: Routing, index: int) -> Dim:
    """For the selector of a merge, chunks of input i have the dims of input i again."""
    return routing.merged[dim][index] if dim in routing.merged else dim


@public
def partition(
    x: Stream,
    sel: Stream,
    *,
    rank: int,
    num_consumers: int | None = None,
    name: str | None = None,
) -> tuple[Stream, ...]:
    """Send each rank-`rank` chunk to every consumer whose bit its selector has set.

    Parameters
    ----------
    x : Stream
        ``[D_a..D_0]``.
    sel : Stream
        Selectors ``[D_a..D_b]``, one per chunk. No bit set drops the chunk, several multicast it.
    rank : int
        b, the rank of a chunk.
    num_consumers : int, optional
        Number of outputs, by default that of the selectors.
    name : str, optional
        Name of the node.

    Returns
    -------
    tuple of Stream
        ``[E_i, D_{b-1}..D_0]``; equal selectors give equal E_i.

    Raises
    ------
    StepError
        If the shapes don't fit.

    Notes
    -----
    Partition (paper, section 3).

    Examples
    --------
    >>> g = sg.Graph()
    >>> x, route = g.input("x", sg.int8[1, 8], (4, 3)), g.input("route", sg.Selector(2), (4,))
    >>> x.partition(route, rank=1)
    (<partition_0.0 Stream[int8 1x8; E0, 3]>, <partition_0.1 Stream[int8 1x8; E1, 3]>)
    """
    return build("partition", (x, sel), {"rank": rank, "num_consumers": num_consumers}, name)
