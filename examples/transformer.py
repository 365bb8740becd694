"""A layer of a small transformer, once for a token and once for a chunk of a prompt.

`decode` and `prefill` are one program with tiles of other heights: RMS norm, attention with RoPE
over caches, and a mixture of experts whose gate is on chip. The weights of all layers stand one
after the other in memory, and a run says which layer it is by its number, so that one circuit does
for any depth. Both work on the same memory: a token follows the prompt. Of a cache only rows that
are there are read; what a token does not see of them is masked by its position, and replaced, never
multiplied. The weights of the norms are part of the projections behind them.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import stepgen as sg

EPSILON = 1e-6
"""Epsilon of the norms, against division by zero."""

Program = tuple[sg.Graph, dict[str, Any]]


def decode(position: int = 5, layer: int = 1, cache: int = 16, seed: int = 0) -> Program:
    """Build the layer for one token.

    Parameters
    ----------
    position : int
        Tokens before it, whose keys and values the caches hold.
    layer : int
        Number of the layer, from 0.
    cache : int
        Rows of a head's cache.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Contents of tensors, and the streams that say where the token stands.
    """
    return _layer("decode", 1, position, layer, cache, seed)


def prefill(
    tokens: int = 4, chunk: int = 1, layer: int = 1, cache: int = 16, seed: int = 0
) -> Program:
    """Build the layer for the tokens of a prompt's chunk.

    Parameters
    ----------
    tokens : int
        Those of a chunk.
    chunk : int
        Number of the chunk, from 0.
    layer, cache, seed : int
        As for `decode`.

    Returns
    -------
    graph : Graph
    inputs : dict
        As of `decode`.
    """
    return _layer("prefill", tokens, chunk, layer, cache, seed)


def _layer(
    name: str,
    tokens: int,
    chunk: int,
    layer: int,
    cache: int,
    seed: int,
    heads: int = 2,
    head: int = 8,
    experts: int = 4,
    top: int = 2,
    inner: int = 16,
    layers: int = 2,
) -> Program:
    if tokens < 1 or cache % tokens:
        raise sg.StepError(f"{name} needs chunks that fill a cache of {cache}, not of {tokens}")
    if not 0 <= chunk < cache // tokens:
        what = "positions" if tokens == 1 else "chunks"
        raise sg.StepError(f"{name} has {what} 0 to {cache // tokens - 1}, not {chunk}")
    if not 0 <= layer < layers:
        raise sg.StepError(f"{name} has layers 0 to {layers - 1}, not {layer}")
    width = heads * head
    g = sg.Graph(name)
    x = g.input("x", sg.f32[tokens, width], (1,))
    here = g.input("layer", sg.address[1, 1], (1,))
    number = g.input("chunk", sg.address[1, 1], (1,))
    shapes = {
        "qkv": (layers * 3 * width, width),
        "out": (layers * width, width),
        "router": (layers * experts, width),
        "gate_up": (layers * experts * 2 * inner, width),
        "down": (layers * experts * width, inner),
        "cosine": (cache, head),
        "sine": (cache, head),
        "keys": (layers * heads * cache, head),
        "values": (layers * heads * cache, head),
    }
    t = {key: g.tensor(key, shape, sg.bf16) for key, shape in shapes.items()}

    # Queries, keys and values of all heads share one unit; their matrices are stored transposed.
    count = 3 * heads
    matrices = here.flat_map(sg.fn.tile_addresses(count), rank=1)
    qkv = sg.random_offchip_load(matrices, t["qkv"], tile=(head, width))
    normed = _narrow(_normalised(x)).promote(0).expand(count=count)
    query, key, value = normed.map(sg.fn.matmul(transpose=True), qkv).split([heads] * 3)
    turns = [
        sg.random_offchip_load(number, t[n], tile=(tokens, head)).promote(0).expand(count=heads)
        for n in ("cosine", "sine")
    ]

    # New rows are written before a cache is read: what is read waits for the acknowledgements.
    cached = here.flat_map(sg.fn.tile_addresses(heads), rank=1)
    first = number.map(sg.fn.scale(tokens)).promote(0).expand(count=heads)
    chunks = cached.map(sg.fn.scale(cache // tokens))
    chunks = chunks.map(sg.fn.add(), number.promote(0).expand(count=heads))
    for n, new in (("keys", _turned(key, turns)), ("values", value)):
        done = sg.random_offchip_store(chunks, _narrow(new), t[n], tile=(tokens, head))
        cached = cached.promote(0).expand(done.promote(0), rank=1).flatten(0, 1)
    # Of each cache are read the rows up to the last token's. Behind them is what nobody wrote.
    there = first.map(sg.fn.offset(tokens))
    seen = cached.map(sg.fn.scale(cache)).map(sg.fn.as_range(), there)
    at = seen.flat_map(sg.fn.span(cache, positive=True), rank=1)
    keys, values = (
        sg.random_offchip_load(at, t[n], tile=(1, head), name=f"{n}_read").accum(
            sg.fn.retile_row(), rank=1
        )
        for n in ("keys", "values")
    )
    # A token sees itself and those before it.
    scores = _narrow(_turned(query, turns)).map(sg.fn.matmul(transpose=True), keys)
    scores = scores.map(sg.fn.scale(head**-0.5))
    start = first.map(sg.fn.scale(0))
    scores = scores.map(sg.fn.mask_causal(-np.inf, most=cache), first, start)
    e = scores.map(sg.fn.sub(), scores.map(sg.fn.row_max())).map(sg.fn.exp())
    weights = _narrow(e.map(sg.fn.div(), e.map(sg.fn.row_sum())))
    attended = weights.map(sg.fn.matmul(), values).accum(sg.fn.retile_col(), rank=1)
    out = sg.random_offchip_load(here, t["out"], tile=(width, width))
    total = x.map(sg.fn.add(), _narrow(attended).map(sg.fn.matmul(transpose=True), out))

    # Expert e of layer l is number l * experts + e.
    normed = _narrow(_normalised(total))
    router = sg.random_offchip_load(here, t["router"], tile=(experts, width))
    logits = _rows(normed.map(sg.fn.matmul(transpose=True), router))
    route = logits.map(sg.fn.top_k(top))
    chosen = route.flat_map(sg.fn.tile_addresses(), rank=1)
    base = here.map(sg.fn.scale(experts)).promote(0).expand(count=tokens).flatten(0, 1)
    chosen = chosen.map(sg.fn.add(), base.promote(0).expand(count=top))
    gate_up = sg.random_offchip_load(chosen, t["gate_up"], tile=(2 * inner, width))
    token = _rows(normed).promote(0).expand(count=top)
    both = token.map(sg.fn.matmul(transpose=True), gate_up)
    gate, up = both.flat_map(sg.fn.cut_cols(inner), rank=1).split([1, 1])
    hidden = _narrow(gate.map(sg.fn.silu()).map(sg.fn.mul(), up)).flatten(0, 1)
    down = sg.random_offchip_load(chosen, t["down"], tile=(width, inner))
    made = hidden.map(sg.fn.matmul(transpose=True), down)
    best = logits.map(sg.fn.top_k_scores(top))
    e = best.map(sg.fn.sub(), best.map(sg.fn.row_max())).map(sg.fn.exp())
    share = e.map(sg.fn.div(), e.map(sg.fn.row_sum()))
    share = share.flat_map(sg.fn.retile_streamify("col"), rank=1)
    mixed = made.map(sg.fn.mul(), share).accum(sg.fn.add(), rank=1)
    g.output(_rows(total).map(sg.fn.add(), mixed), "y")

    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {
        key: (rng.standard_normal(shape) * shape[1] ** -0.5).astype(ml_dtypes.bfloat16)
        for key, shape in shapes.items()
    }
    angles = np.arange(cache)[:, None] * 10_000.0 ** -(np.arange(head) // 2 * 2 / head)
    inputs["cosine"] = np.cos(angles).astype(ml_dtypes.bfloat16)
    inputs["sine"] = np.sin(angles).astype(ml_dtypes.bfloat16)
    inputs["x"] = rng.standard_normal((1, tokens, width)).astype(np.float32)
    inputs |= {"layer": np.full((1, 1, 1), layer), "chunk": np.full((1, 1, 1), chunk)}
    return g, inputs


def _narrow(x: sg.Stream) -> sg.Stream:
    return x.map(sg.fn.convert(sg.bf16))


def _rows(x: sg.Stream) -> sg.Stream:
    return x.flat_map(sg.fn.retile_streamify("row"), rank=0)


def _normalised(x: sg.Stream) -> sg.Stream:
    """Rows divided by the root of their mean square (RMS norm)."""
    mean = x.map(sg.fn.square()).map(sg.fn.row_sum()).map(sg.fn.scale(1 / int(x.tile.cols)))
    return x.map(sg.fn.mul(), mean.map(sg.fn.offset(EPSILON)).map(sg.fn.rsqrt()))


def _turned(x: sg.Stream, turns: list[sg.Stream]) -> sg.Stream:
    """Pairs of neighbouring columns, turned by their position (RoPE)."""
    cosine, sine = (one.map(sg.fn.convert(sg.f32)) for one in turns)
    across = x.map(sg.fn.rotate_pairs()).map(sg.fn.mul(), sine)
    return x.map(sg.fn.mul(), cosine).map(sg.fn.add(), across)
