"""A simplified mixture-of-experts layer: tokens routed to the experts that a gate chose.

Section 6 of the paper's example, quantised: int8 weights and activations. With static tiling the
tokens of an expert are padded to tiles of `tile` rows, and its weights are read once per tile. With
dynamic tiling all tokens of an expert form one tile whose rows are counted at run time, so weights
are read once per expert that has tokens, and nothing is padded. Capped tiles are dynamic ones of at
most `tile` rows: memory on chip does not grow with the tokens that an expert may get.

Results leave when all columns of a row are known, or with `results="columns"` when those of one
tile of weights are: then nothing collects a row on chip, and merge and store work while the next
columns are computed, not after all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import stepgen as sg
from stepgen.program.routing import checked

SHIFT = 7
"""Shift of the requantization: a sum of 64 products of int8 numbers then about fits int8."""


def moe(
    tokens: int = 64,
    experts: int = 8,
    top: int = 2,
    width: int = 64,
    hidden: int = 256,
    tile: int = 4,
    columns: int | None = None,
    tiling: str = "dynamic",
    results: str = "rows",
    references: bool = False,
    routing: npt.NDArray[np.int64] | None = None,
    skew: float = 0.5,
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    tokens, width : int
        Rows and columns of the activations.
    experts, top : int
        Number of experts, and of those that a token is sent to at most.
    hidden : int
        Columns of an expert's weight, of `width` rows.
    tile : int
        Rows of a static tile, most rows of a capped one.
    columns : int, optional
        Columns of a weight tile: by default 64, or 8 if results leave by columns, or all of fewer.
    tiling : {"static", "dynamic", "capped"}
        How the tokens of an expert are grouped.
    results : {"rows", "columns"}
        How results leave. By rows `y` has ``[tokens * top, hidden]``. By columns, which needs
        dynamic tiles, it has one block after the other, each of `columns` columns of all these
        rows: ``[hidden / columns * tokens * top, columns]``. If selectors choose fewer rows, blocks
        are as much shorter.
    references : bool
        Whether tokens are stored once and references to them are routed, not the tokens.
    routing : int array of shape [tokens, top], optional
        Experts chosen for each token, such as a trace; drawn if not given.
    skew : float
        Skew of the drawn routing: expert i is chosen in proportion to ``(i + 1) ** -skew``.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Selectors, activations and weights, by name.
    """
    if tiling not in ("static", "dynamic", "capped"):
        raise sg.StepError(f'moe needs tiling "static", "dynamic" or "capped", not {tiling!r}')
    if results not in ("rows", "columns"):
        raise sg.StepError(f'moe needs results "rows" or "columns", not {results!r}')
    by_columns = results == "columns"
    if by_columns and tiling != "dynamic":
        raise sg.StepError(
            f'moe needs tiling="dynamic" for results="columns", not {tiling!r}: one tile must have '
            f"all rows of an expert"
        )
    if columns is None:
        columns = min(8 if by_columns else 64, hidden)
    if columns < 1 or hidden % columns:
        raise sg.StepError(
            f"moe needs hidden divisible by columns, those of a tile of weights, not {hidden} by "
            f"{columns}"
        )
    routing = checked("moe", routing, tokens=tokens, experts=experts, top=top)
    if not np.isfinite(skew):
        raise sg.StepError(f"moe needs a skew that is a number, not {skew}")
    g = sg.Graph(f"moe_{tiling}")
    blocks, rows = hidden // columns, tokens * top
    x = g.tensor("x", (tokens, width), sg.int8)
    y = g.tensor("y", (blocks * rows, columns) if by_columns else (rows, hidden), sg.int8)
    route = g.input("route", sg.Selector(experts), (tokens,))

    loaded = sg.linear_offchip_load(x, tile=(1, width), shape=(tokens, 1), stride=(1, 0), name="x")
    # For `stepgen simulate`; the compiler derives the depths of a circuit's FIFOs.
    depth = max(2, tokens)
    made, split = [], sg.fn.retile_streamify("row")
    if references:
        kept = loaded.bufferize(rank=1)
        routes = [part.streamify() for part in sg.partition(kept, route, rank=0)]
    else:
        routes = list(sg.partition(loaded, route, rank=1, num_consumers=experts))
    for i, routed in enumerate(routes):
        weight = g.tensor(f"w{i}", (width, hidden), sg.int8)
        queue = routed.flatten(0, 1)
        if tiling == "static":
            chunks, padding = queue.fifo(depth).reshape(chunk=tile, pad=0)
            padding = padding.fifo(2 * tile)  # flags of this tile and the next
        elif tiling == "capped":
            chunks, padding = queue.reshape(chunk=tile, pad=None), None
        else:
            chunks, padding = queue.promote(), None
        packed = chunks.accum(sg.fn.retile_row(), rank=1)
        weights = sg.linear_offchip_load(
            weight,
            tile=(width, columns),
            shape=(1, blocks),
            stride=(blocks, 1),
            ref=packed,
            name=f"w{i}",
        ).flatten(0, 1)
        repeated = packed.promote(0).expand(count=blocks)
        product = repeated.map(sg.fn.matmul(), weights).map(sg.fn.requantize(shift=SHIFT))
        if by_columns:
            made.append(product.flat_map(split, rank=0).flatten(0, 1))
        else:
            wide = product.accum(sg.fn.retile_col(), rank=1)
            made.append(wide.flat_map(split, rank=0, padding=padding))
    merged = sg.reassemble(made, _again(route, blocks) if by_columns else route.fifo(depth), rank=0)
    sg.linear_offchip_store(merged, y, name="y")
    rng = np.random.default_rng(seed)
    if routing is None:
        routing = draw_routing(rng, tokens, experts, top, skew)
    selectors = np.zeros((tokens, experts), bool)
    np.put_along_axis(selectors, routing, True, axis=1)
    inputs: dict[str, Any] = {"route": selectors, "x": _draw(rng, tokens, width)}
    return g, inputs | {f"w{i}": _draw(rng, width, hidden) for i in range(experts)}


def _again(route: sg.Stream, times: int) -> sg.Stream:
    """All selectors, so many times: first as they come, then from a tile that Expand keeps."""
    kept = route.map(sg.fn.as_flags()).promote().accum(sg.fn.retile_row(), rank=1)
    repeated = kept.promote(0).expand(count=times)
    return repeated.flat_map(sg.fn.retile_streamify("row"), rank=0).map(sg.fn.as_selector())


def draw_routing(
    rng: np.random.Generator, tokens: int, experts: int, top: int, skew: float
) -> npt.NDArray[np.int64]:
    """Draw `top` different experts for each token, popular ones more often."""
    popularity = -skew * np.log(1 + rng.permutation(experts))
    return np.argsort(-(popularity + rng.gumbel(size=(tokens, experts))), axis=1)[:, :top]


def _draw(rng: np.random.Generator, rows: int, cols: int) -> npt.NDArray[np.int8]:
    return rng.integers(-16, 17, (rows, cols), dtype=np.int8)
