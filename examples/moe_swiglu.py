"""A mixture-of-experts layer whose experts are SwiGLU layers, as in Mixtral and Qwen3.

Figures 9, 10, 12, 13, 19 and 20 of the paper, in bf16 with sums in f32. Tokens are sent to the
experts that the routing names; each expert packs its tokens into tiles, of `tile` rows (static
tiling) or of all of them (dynamic tiling), and reads its weights once for each tile. Results are
weighted with the token's scores and summed.

The routing is an input, or is decided on chip: a gate multiplies the tokens with its weights, and
the largest products of a token choose its experts and, after a softmax, are its scores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

import stepgen as sg
from stepgen.ir.dims import product_bound
from stepgen.program import traces
from stepgen.program.routing import checked


class Sizes(NamedTuple):
    """Number of experts, experts per token, width of a token, inner width of an expert."""

    experts: int
    top: int
    width: int
    inner: int


MODELS = {"mixtral": Sizes(8, 2, 4096, 14336), "qwen": Sizes(128, 8, 2048, 768)}
"""Mixtral-8x7B and Qwen3-30B-A3B."""

SMALL = Sizes(4, 2, 64, 128)
"""A small layer, which numpy runs in a moment."""


def moe_swiglu(
    model: str | None = None,
    experts: int | None = None,
    top: int | None = None,
    width: int | None = None,
    inner: int | None = None,
    tokens: int = 64,
    tiling: str = "dynamic",
    tile: int = 16,
    columns: int = 64,
    routing: npt.NDArray[np.int64] | None = None,
    seed: int = 0,
    data: bool = True,
    queue: bool = True,
    gate: str = "input",
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    model : {"mixtral", "qwen"}, optional
        Model with the sizes that are not given; a small layer without it.
    experts, top : int, optional
        Number of experts, and of those that a token is sent to.
    width, inner : int, optional
        Columns of a token, and of an expert's gate and up weights.
    tokens : int
        Number of tokens.
    tiling : {"static", "dynamic"}
        How the tokens of an expert are grouped.
    tile : int
        Rows of a static tile.
    columns : int
        Columns of a tile of gate and up weights, rows of a tile of down weights.
    routing : int array of shape [tokens, top], optional
        Experts chosen for each token, such as a trace; if not given, drawn with the skew of the
        model's routings.
    seed : int
        Seed of everything drawn.
    data : bool
        Whether to draw tokens, scores and weights; without them the program can be costed and
        timed at full size.
    queue : bool
        Whether the FIFO of each expert holds all tokens, so that a busy expert causes no
        head-of-line blocking; without it FIFOs have the machine's depth.
    gate : {"input", "top_k"}
        Whether routing and scores are inputs, or decided on chip by a gate. The weights of the gate
        are fitted to `routing`, which it repeats if there are no more tokens than columns.

    Returns
    -------
    graph : Graph
    inputs : dict
        Selectors and, with `data`, activations, scores (of a token's experts in the order of their
        numbers) and weights, by name.
    """
    checked_gate("moe_swiglu", gate)
    sizes = sizes_of(model, experts, top, width, inner)
    if tiling not in ("static", "dynamic"):
        raise sg.StepError(f'moe_swiglu needs tiling "static" or "dynamic", not {tiling!r}')
    routing = checked_routing("moe_swiglu", routing, model, sizes, tokens, seed)
    g = sg.Graph(f"moe_swiglu_{tiling}")
    x = g.tensor("x", (tokens, sizes.width), sg.bf16)
    y = g.tensor("y", (tokens, sizes.width), sg.f32)
    rows = sg.linear_offchip_load(
        x, tile=(1, sizes.width), shape=(tokens, 1), stride=(1, 0), name="x"
    )
    if gate == "top_k":
        whole = rows.flatten(0, 1).promote().accum(sg.fn.retile_row(), rank=1)
        route, score = gated(whole, sizes)
        rows = rows.fifo(tokens + 1)  # they wait until the gate has seen the end
    else:
        route, score = given(g, tokens, sizes)
    rows_of_tile = tile if tiling == "static" else None
    sums = experts_layer(rows, route, score, sizes, tile=rows_of_tile, columns=columns, queue=queue)
    sg.linear_offchip_store(sums, y, name="y")
    chosen = selectors(routing, sizes.experts)
    inputs: dict[str, Any] = {} if gate == "top_k" else {"route": chosen}
    if data:
        rng = np.random.default_rng(seed)
        inputs["x"] = drawn(rng, (tokens, sizes.width), 1)
        if gate == "top_k":
            inputs["router"] = _fitted(inputs["x"], chosen)
        else:
            inputs["scores"] = draw_scores(rng, tokens, sizes)
        inputs |= draw_experts(rng, sizes)
    return g, inputs


def given(g: sg.Graph, tokens: int, sizes: Sizes) -> tuple[sg.Stream, sg.Stream]:
    """Selectors ``[B]`` and scores ``[B, top]`` of tokens as inputs."""
    scores = g.tensor("scores", (tokens, sizes.top), sg.bf16)
    route = g.input("route", sg.Selector(sizes.experts, hot=sizes.top), (tokens,))
    return route, sg.linear_offchip_load(
        scores, tile=(1, 1), shape=scores.shape, stride=(sizes.top, 1), name="scores"
    )


def gated(tokens: sg.Stream, sizes: Sizes) -> tuple[sg.Stream, sg.Stream]:
    """Selectors ``[B]`` and scores ``[B, top]`` that a gate decides for one tile of all tokens.

    A token's scores are the softmax of its largest products with the weights of the gate.
    """
    weight = tokens.graph.tensor("router", (sizes.width, sizes.experts), sg.bf16)
    load = sg.linear_offchip_load(weight, tile=weight.shape, shape=(1,), stride=(1,), name="router")
    rows = sg.fn.retile_streamify("row")
    products = tokens.map(sg.fn.matmul(), load).flat_map(rows, rank=0)
    best = products.map(sg.fn.top_k_scores(sizes.top))
    parts = best.map(sg.fn.sub(), best.map(sg.fn.row_max())).map(sg.fn.exp())
    scores = parts.map(sg.fn.div(), parts.map(sg.fn.row_sum())).map(sg.fn.convert(sg.bf16))
    each = scores.flat_map(sg.fn.retile_streamify("col"), rank=1)
    return products.map(sg.fn.top_k(sizes.top)), each


def experts_layer(
    rows: sg.Stream,
    route: sg.Stream,
    scores: sg.Stream,
    sizes: Sizes,
    *,
    tile: int | None,
    columns: int,
    queue: bool = True,
) -> sg.Stream:
    """The experts and the weighted sum of their results.

    Parameters
    ----------
    rows : Stream
        Tokens ``[B, 1]`` as bf16 tiles of 1 x width.
    route : Stream
        Selectors ``[B]`` over the experts.
    scores : Stream
        ``[B, top]`` bf16 scalars, of a token's experts in the order of their numbers.
    sizes : Sizes
        Sizes of the layer.
    tile : int or None
        Rows of a static tile; None for one dynamic tile per expert.
    columns : int
        Columns of a tile of gate and up weights.
    queue : bool
        Whether the FIFO of each expert holds all tokens.

    Returns
    -------
    Stream
        ``[B]`` of f32 tiles of 1 x width.
    """
    if columns < 1 or sizes.inner % columns:
        raise sg.StepError(
            f"experts need an inner width divisible by columns, not {sizes.inner} by {columns}"
        )
    depth = max(2, product_bound(route.shape) or 2)
    parts = sg.partition(rows, route, rank=1)
    if queue:
        parts = tuple(part.fifo(depth) for part in parts)
    # Scores and results come later than tokens: the tokens' selectors must not wait for theirs.
    later = route.fifo(depth)
    weights = sg.partition(scores, later.flat_map(sg.fn.one_hot(), rank=1), rank=0)
    results = [
        _expert(i, part, sizes, tile, columns).map(sg.fn.mul(), weight.map(sg.fn.convert(sg.f32)))
        for i, (part, weight) in enumerate(zip(parts, weights, strict=True))
    ]
    merged = sg.reassemble(results, later, rank=0, order="arrival")
    return merged.accum(sg.fn.add(), rank=1)


def _expert(
    number: int, tokens: sg.Stream, sizes: Sizes, tile: int | None, columns: int
) -> sg.Stream:
    """One expert: tokens ``[E, 1]`` times its three weights, ``[E]``."""
    g, (_, _, width, inner) = tokens.graph, sizes
    flat = tokens.flatten(0, 1)
    chunks, padding = (flat.promote(), None) if tile is None else flat.reshape(chunk=tile)
    packed = chunks.accum(sg.fn.retile_row(), rank=1)
    repeated = packed.promote(0).expand(count=inner // columns)

    def load(name: str, shape: tuple[int, int], tile: tuple[int, int]) -> sg.Stream:
        return sg.linear_offchip_load(
            g.tensor(f"{name}{number}", shape, sg.bf16),
            tile=tile,
            shape=(inner // columns,),
            stride=(1,),
            ref=packed,
            name=f"{name}{number}",
        )

    gate = load("gate", (width, inner), (width, columns))
    up = load("up", (width, inner), (width, columns))
    gated = repeated.map(sg.fn.matmul(), gate).map(sg.fn.silu())
    hidden = gated.map(sg.fn.mul(), repeated.map(sg.fn.matmul(), up))
    down = load("down", (inner, width), (columns, width))
    result = hidden.map(sg.fn.convert(sg.bf16)).accum(sg.fn.matmul(), down, rank=1)
    return result.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)


def sizes_of(
    model: str | None,
    experts: int | None = None,
    top: int | None = None,
    width: int | None = None,
    inner: int | None = None,
) -> Sizes:
    """The given sizes, the others from the model."""
    if model is not None and model not in MODELS:
        raise sg.StepError(f"there is no model {model!r}, those are {', '.join(MODELS)}")
    base = SMALL if model is None else MODELS[model]
    own = (experts, top, width, inner)
    given = Sizes(*(b if n is None else n for b, n in zip(base, own, strict=True)))
    if not 1 <= given.top <= given.experts or min(given) < 1:
        raise sg.StepError(
            f"an expert layer needs positive sizes and no more experts per token than there are, "
            f"not {', '.join(f'{n}={size}' for n, size in given._asdict().items())}"
        )
    return given


def checked_routing(
    program: str,
    routing: npt.NDArray[np.int64] | None,
    model: str | None,
    sizes: Sizes,
    tokens: int,
    seed: int,
) -> npt.NDArray[np.int64]:
    """The given routing, checked, or a drawn one."""
    routing = checked(program, routing, tokens=tokens, experts=sizes.experts, top=sizes.top)
    if routing is None:
        spread, idle = traces.SKEWS[model or "mixtral"]
        return traces.draw_routing(
            tokens, sizes.experts, sizes.top, spread=spread, idle=idle, seed=seed
        )
    return routing


def checked_gate(program: str, gate: str) -> None:
    """Raise an error if there is no such gate."""
    if gate not in ("input", "top_k"):
        raise sg.StepError(f'{program} needs gate "input" or "top_k", not {gate!r}')


def selectors(routing: npt.NDArray[np.int64], experts: int) -> npt.NDArray[np.bool_]:
    """A routing as one bit vector per token."""
    bits = np.zeros((len(routing), experts), np.bool_)
    np.put_along_axis(bits, routing, True, axis=1)
    return bits


def draw_experts(rng: np.random.Generator, sizes: Sizes) -> dict[str, Any]:
    """Weights of all experts by the names of their tensors."""
    shapes = {name: (sizes.width, sizes.inner) for name in ("gate", "up")}
    shapes["down"] = (sizes.inner, sizes.width)
    return {
        f"{name}{i}": drawn(rng, shape, shape[0] ** -0.5)
        for i in range(sizes.experts)
        for name, shape in shapes.items()
    }


def draw_scores(rng: np.random.Generator, tokens: int, sizes: Sizes) -> npt.NDArray[Any]:
    """Scores of the experts of each token, with sum 1."""
    return rng.dirichlet(np.full(sizes.top, 4.0), tokens).astype(ml_dtypes.bfloat16)


def _fitted(x: npt.NDArray[Any], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Weights of a gate whose products are nearest to 2 for chosen experts, and -2 for others."""
    aims = np.where(chosen, 2.0, -2.0)
    weights: npt.NDArray[Any] = np.linalg.lstsq(x.astype(float), aims)[0]
    return weights.astype(ml_dtypes.bfloat16)


def drawn(rng: np.random.Generator, shape: tuple[int, int], deviation: float) -> npt.NDArray[Any]:
    """Normal bf16 numbers."""
    return rng.normal(0, deviation, shape).astype(ml_dtypes.bfloat16)
