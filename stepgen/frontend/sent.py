"""Tokens that are sent to their experts, each of which reads its weights once for a tile of them.

As in `examples/moe_swiglu.py`: a Partition sends tokens, tiles have all rows of an expert or a
fixed number, and a Reassemble brings results back into the order of the tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from stepgen.frontend.weight import Weight
from stepgen.ir.dims import product_bound
from stepgen.ir.dtypes import Selector, f32
from stepgen.ir.fn import fn
from stepgen.ir.stream import Stream
from stepgen.ops.linear_offchip_load import linear_offchip_load
from stepgen.ops.partition import partition
from stepgen.ops.reassemble import reassemble

if TYPE_CHECKING:
    from stepgen.frontend.site import Site

Tiling = Literal["address", "static", "dynamic"]
"""How experts read their weights.

By address, for each token by itself; or once for a tile of their tokens, of a static number of
rows or of all of them.
"""

ROWS: Final = 16
"""Rows of a static tile."""

ROUTE, SCORES = "route", "scores"
"""Inputs of a program that is given the experts of its tokens, and what their results count."""


def given(at: Site, rows: Stream, experts: int, top: int) -> tuple[Stream, Stream]:
    """The experts of each token, and tiles [1, top] with what they count, as inputs."""
    graph = at.lowering.graph
    route = graph.input(at.lowering.name(ROUTE), Selector(experts, hot=top), rows.shape)
    return route, graph.input(at.lowering.name(SCORES), f32[1, top], rows.shape)


def sent(
    at: Site,
    rows: Stream,
    route: Stream,
    weights: dict[str, Weight],
    compute: Callable[[Stream, dict[str, Stream]], Stream],
) -> Stream:
    """What the experts of each token make of it, in the order of their numbers.

    Parameters
    ----------
    at : Site
    rows, route : Stream
        Tokens, and their experts.
    weights : dict of str to Weight
        By role, [experts, hidden, width] of all experts.
    compute : callable
        What an expert makes of tiles, once for each of its columns, and of tiles of its weights.
    """
    if at.lowering.layers is not None:
        at.fail(
            "a loop sends no tokens to experts by tiles, since those of its layers would share "
            "them: take tiling=address, or one layer by block=..."
        )
    *_, hidden, width = weights["gate"].shape
    cols = at.cut(hidden)
    deep = max(2, product_bound(route.shape) or 2)  # a machine's FIFOs have fixed depths
    static = at.lowering.tiling == "static"
    made = []
    for number, part in enumerate(partition(rows, route, rank=0)):
        queue = part.fifo(deep)
        chunks, padding = (
            queue.reshape(chunk=at.lowering.expert_rows, pad=0)
            if static
            else (queue.promote(), None)
        )
        packed = chunks.accum(fn.retile_row(), rank=1)
        tiles = {
            role: _tiles(at, f"{role}{number}", _of(every, number), (cols, width), packed)
            for role, every in weights.items()
        }
        result = compute(packed.promote(0).expand(count=hidden // cols), tiles)
        made.append(result.flat_map(fn.retile_streamify("row"), rank=0, padding=padding))
    return reassemble(made, route.fifo(deep), rank=0)


def _of(every: Weight, number: int) -> Weight:
    """The weight of one expert."""
    return every.moved(every.shape[1:], lambda array: array[number])


def _tiles(at: Site, role: str, weight: Weight, tile: tuple[int, int], ref: Stream) -> Any:
    """Tiles of a weight, once for each tile of tokens."""
    tensor = at.tensor(role, weight, at.lowering.element)
    name, count = at.lowering.name(f"{tensor.name}_load"), weight.size // (tile[0] * tile[1])
    return linear_offchip_load(tensor, tile=tile, shape=(count,), stride=(1,), ref=ref, name=name)
