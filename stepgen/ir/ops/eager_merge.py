"""eager_merge: merges chunks of several streams in order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from stepgen.ir.applying import over_all, tiles_of
from stepgen.ir.dims import add
from stepgen.ir.dtypes import Selector, Tile
from stepgen.ir.graph import build
from stepgen.ir.merging import common_type, merged_totals
from stepgen.ir.operator import Call, Operator, public
from stepgen.ir.stream import Node, Out, Routing, Stream


class EagerMerge(Operator):
    """x_i ``[E_i, D_{a-1}..D_0]`` -> data ``[sum E_i, D_{a-1}..D_0]``, selector ``[sum E_i]``.

    Attributes of a node: ``rank``.
    """

    is_main: ClassVar[bool] = True
    optional_outputs: ClassVar[frozenset[int]] = frozenset({0, 1})

    def infer(self, call: Call) -> Sequence[Out]:
        """The order is decided at run time, the shape is not."""
        rank = call.integer("rank", 0)
        inner, dtype, merged = common_type(call, call.inputs, rank)
        totals, volume = merged_totals(call.inputs, rank)
        count = add([x.shape[0] for x in call.inputs])
        selector = Selector(len(call.inputs), hot=1)
        # Behind a Partition by the selector, chunks of an input have that input's dims again.
        sums = {}
        if rank == 0 and isinstance(dtype, Tile) and dtype.rows in merged:
            tiles = tiles_of(call, call.inputs)
            rows = [over_all([x], t.rows.expr) for x, t in zip(call.inputs, tiles, strict=True)]
            sums = {dtype.rows: tuple(rows)}
        routing = Routing(tuple(x.shape[0] for x in call.inputs), merged, sums)
        return [
            Out((count, *inner), dtype, totals, volume),
            Out((count,), selector, routing=routing),
        ]

    def contents(self, node: Node, port: int) -> Sequence[int] | None:
        """The order of arrival determines the selectors."""
        return () if port == 1 else super().contents(node, port)


@public
def eager_merge(
    xs: Sequence[Stream], *, rank: int, name: str | None = None
) -> tuple[Stream, Stream]:
    """Merge streams, whole rank-`rank` chunks at a time, in the order of arrival; fair.

    Parameters
    ----------
    xs : sequence of Stream
        ``[E_i, D_{a-1}..D_0]``, all of rank `rank`. Tiles may differ in extents that are decided at
        run time.
    rank : int
        a, the rank of a chunk.
    name : str, optional
        Name of the node.

    Returns
    -------
    data : Stream
        ``[sum E_i, D_{a-1}..D_0]``.
    selector : Stream
        ``[sum E_i]``, one bit set: where each chunk came from.

    Raises
    ------
    StepError
        If the streams differ in type.

    Notes
    -----
    EagerMerge (paper, section 3). That no input waits for ever is stepgen's addition.

    Examples
    --------
    >>> g = sg.Graph()
    >>> a, b = g.input("a", sg.int8[1, 8], (4, 3)), g.input("b", sg.int8[1, 8], (2, 3))
    >>> sg.eager_merge([a, b], rank=1)
    (<eager_merge_0.0 Stream[int8 1x8; 6, 3]>, <eager_merge_0.1 Stream[selector 1 of 2; 6]>)
    """
    data, selector = build("eager_merge", xs, {"rank": rank}, name)
    return data, selector
