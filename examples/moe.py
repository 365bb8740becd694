"""A simplified mixture-of-experts layer: tokens routed to the experts that a gate chose.

Section 6 of the paper's example, quantised: int8 weights and activations. With static tiling the
tokens of an expert are padded to tiles of `tile` rows, and its weights are read once per tile. With
dynamic tiling all tokens of an expert form one tile whose rows are counted at run time, so weights
are read once per expert that has tokens, and nothing is padded.
"""

from __future__ import annotations

import stepgen as sg

SHIFT = 7
"""Of the requantization: 64 products of two int8 numbers come back to about int8."""


def moe(
    tokens: int = 64,
    experts: int = 8,
    top: int = 2,
    width: int = 64,
    hidden: int = 256,
    tile: int = 4,
    columns: int = 64,
    tiling: str = "dynamic",
) -> sg.Graph:
    """Build the layer.

    Parameters
    ----------
    tokens, width : int
        Rows and columns of the activations.
    experts, top : int
        How many experts there are, and how many of them a token is sent to at most.
    hidden : int
        Columns of an expert's weight, of `width` rows.
    tile : int
        Rows of a static tile.
    columns : int
        Columns of a weight tile.
    tiling : {"static", "dynamic"}
        How the tokens of an expert are grouped.
    """
    if tiling not in ("static", "dynamic"):
        raise sg.StepError(f'moe needs tiling "static" or "dynamic", not {tiling!r}')
    if columns < 1 or hidden % columns:
        raise sg.StepError(f"moe needs hidden divisible by columns, not {hidden} by {columns}")
    g = sg.Graph(f"moe_{tiling}")
    x = g.tensor("x", (tokens, width), sg.int8)
    y = g.tensor("y", (tokens * top, hidden), sg.int8)
    route = g.input("route", sg.Selector(experts), (tokens,))

    loaded = sg.linear_offchip_load(x, tile=(1, width), shape=(tokens, 1), stride=(1, 0), name="x")
    results = []
    for i, routed in enumerate(sg.partition(loaded, route, rank=1, num_consumers=experts)):
        weight = g.tensor(f"w{i}", (width, hidden), sg.int8)
        # Deep enough for all tokens, so that a busy expert never keeps the others waiting.
        queue = routed.fifo(max(2, tokens * width // 4)).flatten(0, 1)
        if tiling == "static":
            chunks, padding = queue.reshape(chunk=tile, pad=0)
        else:
            chunks, padding = queue.promote(), None
        packed = chunks.accum(sg.fn.retile_row(), rank=1)
        weights = sg.linear_offchip_load(
            weight,
            tile=(width, columns),
            shape=(1, hidden // columns),
            stride=(hidden // columns, 1),
            ref=packed,
            name=f"w{i}",
        ).flatten(0, 1)
        repeated = packed.promote(0).expand(count=hidden // columns)
        product = repeated.map(sg.fn.matmul(), weights).map(sg.fn.requantize(shift=SHIFT))
        wide = product.accum(sg.fn.retile_col(), rank=1)
        results.append(wide.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding))
    merged = sg.reassemble(results, route.fifo(max(2, tokens)), rank=0)
    sg.linear_offchip_store(merged, y, name="y")
    g.check()
    return g
