"""A whole decoder layer at one decoding step: attention over caches, then a mixture of experts.

Figure 17 of the paper. The batch is one tile: normalised, projected to queries, keys and values
with streamed weights, split into requests for attention, joined again for the output projection,
added to the input, normalised, and split into tokens for the experts.

Queries and keys are turned by their position (RoPE, in pairs of neighbouring columns) with sines
and cosines that are read by address. Which experts a token is sent to, with which scores, is an
input, or decided on chip by a gate. The weights of the norms are part of the projections behind
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
from attention import attend, declare, describe, lengths_of, tiles_of, valid_rows
from moe_swiglu import (
    checked_gate,
    checked_routing,
    draw_experts,
    draw_scores,
    drawn,
    experts_layer,
    gated,
    given,
    selectors,
    sizes_of,
)

import stepgen as sg

EPSILON = 1e-6
"""Epsilon of the norm, against division by zero."""

TURNS = 10_000
"""Base of RoPE: the first pair of columns turns almost so many times faster than the last."""


class Heads(NamedTuple):
    """Query heads, key-value heads, and columns of a head."""

    query: int
    kv: int
    width: int


MODELS = {"mixtral": Heads(32, 8, 128), "qwen": Heads(32, 4, 128)}
"""Mixtral-8x7B and Qwen3-30B-A3B."""

SMALL = Heads(4, 2, 16)
"""A small layer, which numpy runs in a moment."""


def decoder(
    model: str | None = None,
    lengths: list[int] | npt.NDArray[np.int64] | None = None,
    batch: int = 8,
    mean: float = 48,
    stdev: float = 32,
    kv_heads: int | None = None,
    head: int | None = None,
    experts: int | None = None,
    top: int | None = None,
    width: int | None = None,
    inner: int | None = None,
    cache_tile: int = 32,
    softmax: str = "safe",
    norm: bool = True,
    tiling: str = "dynamic",
    tile: int = 16,
    columns: int = 64,
    routing: npt.NDArray[np.int64] | None = None,
    seed: int = 0,
    data: bool = True,
    rope: bool = True,
    gate: str = "input",
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    model : {"mixtral", "qwen"}, optional
        Model with the sizes that are not given; a small layer without it.
    lengths : sequence of int, optional
        Rows in the cache of each request, without the new one.
    batch, mean, stdev : int, float, float
        Without `lengths`: number of requests to draw, and statistics of their lengths.
    kv_heads : int, optional
        Number of the model's key-value heads in the program, each with its query heads.
    head : int, optional
        Columns of a head, if not the model's.
    experts, top : int, optional
        Number of experts, and of those that a token is sent to.
    width, inner : int, optional
        Columns of a token, and of an expert's gate and up weights.
    cache_tile : int
        Rows of a tile of the caches.
    softmax : {"safe", "published"}
        How scores become weights.
    norm : bool
        Whether the inputs of attention and experts are normalised.
    tiling : {"static", "dynamic"}
        How the tokens of an expert are grouped.
    tile, columns : int
        Rows of a static tile of tokens, columns of a tile of gate and up weights.
    routing : int array of shape [batch, top], optional
        Experts chosen for each token; drawn if not given.
    seed : int
        Seed of everything drawn.
    data : bool
        Whether to draw tensors; without them the program can be costed and timed.
    rope : bool
        Whether queries and keys are turned by their position, the length of the request's cache.
    gate : {"input", "top_k"}
        Whether routing and scores are inputs, or decided on chip by a gate.

    Returns
    -------
    graph : Graph
    inputs : dict
        Selectors, streams that describe the requests and, with `data`, tensors, by name.
    """
    if tiling not in ("static", "dynamic"):
        raise sg.StepError(f'decoder needs tiling "static" or "dynamic", not {tiling!r}')
    checked_gate("decoder", gate)
    if gate == "top_k" and routing is not None:
        raise sg.StepError('decoder with gate "top_k" chooses the experts itself: give no routing')
    sizes = sizes_of(model, experts, top, width, inner)
    heads = SMALL if model is None else MODELS[model]
    group, head = heads.query // heads.kv, heads.width if head is None else head
    kv_heads = heads.kv if kv_heads is None else kv_heads
    if not 1 <= kv_heads <= heads.kv:
        raise sg.StepError(f"decoder has 1 to {heads.kv} key-value heads, not {kv_heads}")
    if cache_tile < 1:
        raise sg.StepError(f"decoder needs cache tiles of at least 1 row, not {cache_tile}")
    lengths = lengths_of("decoder", lengths, batch, mean, stdev, seed)
    batch = len(lengths)
    routing = checked_routing("decoder", routing, model, sizes, batch, seed)

    g = sg.Graph("decoder")
    x = g.tensor("x", (batch, sizes.width), sg.bf16)
    y = g.tensor("y", (batch, sizes.width), sg.f32)
    most = int(tiles_of(lengths, cache_tile).max())
    capacity = most * cache_tile
    shapes = {"q": (sizes.width, group * head), "o": (group * head, sizes.width)}
    shapes |= dict.fromkeys(("k", "v"), (sizes.width, head))
    shapes |= dict.fromkeys(("keys", "values"), (batch * capacity, head))
    weights = {
        f"{name}{h}": g.tensor(f"{name}{h}", shape, sg.bf16)
        for h in range(kv_heads)
        for name, shape in shapes.items()
    }
    requests = declare(g, batch, softmax, most)
    turns = _turns(g, batch, int(lengths.max()) + 1, head) if rope else ()

    whole = sg.linear_offchip_load(x, tile=x.shape, shape=(1,), stride=(1,), name="x")
    total = whole.map(sg.fn.convert(sg.f32))
    tokens = _narrow(_normalised(total) if norm else total)
    for h in range(kv_heads):
        query, key, value = (
            _project(
                tokens, weights[f"{n}{h}"], head, turns if n != "v" else (), f"{n}_of_request{h}"
            )
            for n in "qkv"
        )
        caches = weights[f"keys{h}"], weights[f"values{h}"]
        attended = attend(
            query, key, value, requests, caches,
            tile=cache_tile, softmax=softmax, name=f"attended{h}",
        )  # fmt: skip
        total = total.map(sg.fn.add(), _joined(attended, weights[f"o{h}"]))
    rows = sg.fn.retile_streamify("row")
    tokens = _narrow(_normalised(total) if norm else total)
    route, score = gated(tokens, sizes) if gate == "top_k" else given(g, batch, sizes)
    tokens = tokens.flat_map(rows, rank=0)
    if gate == "top_k":
        tokens = tokens.fifo(max(2, batch))  # they wait for what the gate has chosen
    rows_of_tile = tile if tiling == "static" else None
    mixed = experts_layer(
        tokens.promote(0), route, score, sizes, tile=rows_of_tile, columns=columns
    )
    sg.linear_offchip_store(mixed.map(sg.fn.add(), total.flat_map(rows, rank=0)), y, name="y")

    inputs: dict[str, Any] = describe(lengths, cache_tile, softmax)
    if rope:
        inputs["position"] = lengths.reshape(batch, 1, 1)
    if gate == "input":
        inputs["route"] = selectors(routing, sizes.experts)
    if data:
        rng = np.random.default_rng(seed)
        inputs["x"] = drawn(rng, x.shape, 1)
        if gate == "top_k":
            inputs["router"] = drawn(rng, (sizes.width, sizes.experts), sizes.width**-0.5)
        else:
            inputs["scores"] = draw_scores(rng, batch, sizes)
        filled = valid_rows(lengths, capacity).reshape(-1, 1)
        for name, tensor in weights.items():
            cached = name.startswith(("keys", "values"))
            numbers = drawn(rng, tensor.shape, 1 if cached else tensor.shape[0] ** -0.5)
            inputs[name] = np.where(filled, numbers, 0) if cached else numbers
        if rope:
            inputs |= _angles(int(lengths.max()) + 1, head)
        inputs |= draw_experts(rng, sizes)
    return g, inputs


def _narrow(x: sg.Stream) -> sg.Stream:
    return x.map(sg.fn.convert(sg.bf16))


def _normalised(x: sg.Stream) -> sg.Stream:
    """Rows divided by the root of their mean square (RMS norm)."""
    squares = x.map(sg.fn.square()).map(sg.fn.row_sum()).map(sg.fn.scale(1 / int(x.tile.cols)))
    return x.map(sg.fn.mul(), squares.map(sg.fn.offset(EPSILON)).map(sg.fn.rsqrt()))


def _turns(g: sg.Graph, batch: int, positions: int, head: int) -> tuple[sg.Stream, ...]:
    """Cosines and sines ``[B, 1]`` of the requests' positions, a row of a head's columns each."""
    at = g.input("position", sg.address[1, 1], (batch,))
    tables = (g.tensor(name, (positions, head), sg.bf16) for name in ("cosine", "sine"))
    return tuple(
        sg.random_offchip_load(at, table, tile=(1, head), name=table.name).promote(0)
        for table in tables
    )


def _angles(positions: int, head: int) -> dict[str, Any]:
    """Cosines and sines for each position; the columns of a pair have the same angle."""
    slower = TURNS ** -(np.arange(head) // 2 * 2 / head)
    angles = np.arange(positions)[:, None] * slower
    tables = {"cosine": np.cos(angles), "sine": np.sin(angles)}
    return {name: table.astype(ml_dtypes.bfloat16) for name, table in tables.items()}


def _project(
    tokens: sg.Stream, weight: sg.Tensor, head: int, turns: Sequence[sg.Stream], name: str
) -> sg.Stream:
    """The batch ``[1]`` times a weight, as one tile of heads x head for each request, ``[B, 1]``.

    Products come head by head for the whole batch; a buffer that is read in another order than
    written gives them request by request. Cosines and sines, if there are `turns`, turn them.
    """
    batch, count = int(tokens.tile.rows), weight.shape[1] // head
    tile = (weight.shape[0], head)
    load = sg.linear_offchip_load(
        weight, tile=tile, shape=(1, count), stride=(0, 1), name=weight.name
    )
    products = _narrow(tokens.promote(0).expand(count=count).map(sg.fn.matmul(), load))
    rows = products.flat_map(sg.fn.retile_streamify("row"), rank=1).bufferize(rank=2)
    by_request = rows.streamify(shape=(batch, count), stride=(1, batch))
    tiles = by_request.accum(sg.fn.retile_row(), rank=1).flatten(0, 1)
    if not turns:
        return tiles.promote(0, name=name)
    cosine, sine = turns
    tiles = tiles.promote(0)
    across = tiles.map(sg.fn.rotate_pairs()).map(sg.fn.mul(), sine)
    return tiles.map(sg.fn.mul(), cosine).map(sg.fn.add(), across, name=name)


def _joined(attended: sg.Stream, weight: sg.Tensor) -> sg.Stream:
    """Requests ``[B]`` of heads x head, as the batch ``[1]`` times the output projection."""
    batch, (count, head) = int(attended.dim(0)), (int(d) for d in attended.tile.dims)
    rows = _narrow(attended).flat_map(sg.fn.retile_streamify("row"), rank=1).promote()
    by_head = rows.bufferize(rank=2).streamify(shape=(count, batch), stride=(1, count))
    tiles = by_head.accum(sg.fn.retile_row(), rank=1)
    tile = (head, weight.shape[1])
    load = sg.linear_offchip_load(
        weight, tile=tile, shape=(1, count), stride=(0, 1), name=weight.name
    )
    return tiles.accum(sg.fn.matmul(), load, rank=1)
