"""Small programs for tasks that are often needed.

`stepgen show recipes:relu`, `stepgen run recipes:relu`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stepgen as sg

Program = tuple[sg.Graph, dict[str, Any]]


def relu(rows: int = 4) -> sg.Graph:
    """ReLU: the larger of each element and 0; ``at_least`` takes any other constant too."""
    g = sg.Graph("relu")
    x = g.input("x", sg.int8[1, 8], (rows,))
    g.output(x.map(sg.fn.at_least(0)), "y")
    return g


def clip(rows: int = 4) -> sg.Graph:
    """Between two constants, such as ReLU6."""
    g = sg.Graph("clip")
    x = g.input("x", sg.f32[1, 8], (rows,))
    g.output(x.map(sg.fn.at_least(0)).map(sg.fn.at_most(6)), "y")
    return g


def bias(rows: int = 4) -> sg.Graph:
    """A bias per column: a row from off-chip memory for each tile, repeated over the tile's rows.

    A bias that is one constant is ``x.map(sg.fn.offset(c))``.
    """
    g = sg.Graph("bias")
    x = g.input("x", sg.f32[16, 8], (rows,))
    b = g.tensor("b", (1, 8), sg.f32)
    row = sg.linear_offchip_load(b, tile=(1, 8), shape=(1,), stride=(0,), ref=x).flatten(0, 1)
    g.output(x.map(sg.fn.add(), row), "y")
    return g


def masked(rows: int = 4) -> sg.Graph:
    """A mask: elements below a threshold of their row become 0."""
    g = sg.Graph("masked")
    x = g.input("x", sg.f32[1, 8], (rows,))
    threshold = g.input("threshold", sg.f32[1, 1], (rows,))
    below = x.map(sg.fn.compare("lt"), threshold)
    g.output(below.map(sg.fn.where(then=0), x), "y")
    return g


def masked_columns(rows: int = 4) -> Program:
    """A mask of columns: all from an index on become minus infinity, as before a softmax."""
    g = sg.Graph("masked_columns")
    scores = g.input("scores", sg.f32[1, 8], (rows,))
    valid = g.input("valid", sg.address[1, 1], (rows,))
    g.output(scores.map(sg.fn.mask_cols(-np.inf), valid), "y")
    return g, {"valid": np.arange(1, rows + 1).reshape(rows, 1, 1)}


def kept_by_flags(rows: int = 4) -> sg.Graph:
    """A choice by flags: negative elements are replaced, whatever they are, and none multiplied."""
    g = sg.Graph("kept_by_flags")
    x = g.input("x", sg.f32[2, 8], (rows,))
    least = g.input("least", sg.f32[1, 1], (rows,))
    flags = x.map(sg.fn.compare("ge"), least)
    g.output(flags.map(sg.fn.where(otherwise=0), x), "y")
    return g


def safe_softmax(rows: int = 4) -> Program:
    """A softmax of the first elements of each row; a row without any becomes zeros, not NaN."""
    g = sg.Graph("safe_softmax")
    scores = g.input("scores", sg.f32[2, 8], (rows,))
    valid = g.input("valid", sg.address[1, 1], (rows,))
    shown = scores.map(sg.fn.mask_cols(-np.inf), valid)
    e = shown.map(sg.fn.sub(), shown.map(sg.fn.row_max())).map(sg.fn.exp())
    kept = e.map(sg.fn.mask_cols(0), valid)  # of NaN too, where nothing is valid
    total = kept.map(sg.fn.row_sum()).map(sg.fn.at_least(1))  # the largest alone is 1
    g.output(kept.map(sg.fn.div(), total), "y")
    return g, {"valid": np.arange(rows).reshape(rows, 1, 1)}


def ragged_attention(requests: int = 3, longest: int = 9, seed: int = 0) -> Program:
    """Attention over keys and values of any number of rows, of each request its own.

    Scores have dynamic columns then: on the wire they travel one by one. ``bound`` sizes the
    memories for keys and values; ``fn.matmul(most=...)`` does where there is none.
    """
    g = sg.Graph("ragged_attention")
    length = sg.ragged("T", bound=longest, positive=True)
    q = g.input("q", sg.bf16[2, 8], (requests,))
    k, v = (g.input(name, sg.Tile(length, 8, sg.bf16), (requests,)) for name in "kv")
    scores = q.map(sg.fn.matmul(transpose=True), k)
    e = scores.map(sg.fn.sub(), scores.map(sg.fn.row_max())).map(sg.fn.exp())
    weights = e.map(sg.fn.div(), e.map(sg.fn.row_sum())).map(sg.fn.convert(sg.bf16))
    g.output(weights.map(sg.fn.matmul(), v), "y")
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, requests)
    return g, {name: [rng.standard_normal((n, 8)) for n in lengths] for name in "kv"}


def cache_window(tokens: int = 4, window: int = 3) -> Program:
    """Scores of a query at each position against a cache: the last ones up to it, for all heads.

    With several queries in a tile, one per row, ``mask_causal`` takes the same positions.
    """
    g = sg.Graph("cache_window")
    scores = g.input("scores", sg.f32[2, 8], (tokens,))
    position = g.input("position", sg.address[1, 1], (tokens,))
    first = g.input("first", sg.address[1, 1], (tokens,))
    g.output(scores.map(sg.fn.mask_cols(-np.inf, window), position, first), "y")
    at = np.arange(tokens).reshape(tokens, 1, 1)
    return g, {"position": at, "first": np.zeros_like(at)}


def masked_mean(rows: int = 4) -> Program:
    """The mean of the first rows of a tile; what the others hold, such as NaN, does not count."""
    g = sg.Graph("masked_mean")
    x = g.input("x", sg.f32[4, 8], (rows,))
    valid = g.input("valid", sg.address[1, 1], (rows,))
    single = x.map(sg.fn.mask_rows(0), valid).flat_map(sg.fn.retile_streamify("row"), rank=1)
    total = single.accum(sg.fn.add(), rank=1)
    count = valid.map(sg.fn.convert(sg.f32)).map(sg.fn.at_least(1))
    g.output(total.map(sg.fn.div(), count), "y")
    return g, {"valid": np.arange(rows).reshape(rows, 1, 1)}


def softmax(rows: int = 4) -> sg.Graph:
    """A softmax of each row; rows of one column are repeated over all columns."""
    g = sg.Graph("softmax")
    x = g.input("x", sg.f32[1, 8], (rows,))
    e = x.map(sg.fn.sub(), x.map(sg.fn.row_max())).map(sg.fn.exp())
    g.output(e.map(sg.fn.div(), e.map(sg.fn.row_sum())), "y")
    return g


def routed(rows: int = 4, experts: int = 3, seed: int = 0) -> Program:
    """One-hot selectors from an array of indices: every row goes to one expert and comes back.

    ``hot=1`` says that one bit is set in each selector, so the type of `y` knows that there is one
    row per selector.
    """
    g = sg.Graph("routed")
    x = g.input("x", sg.int8[1, 8], (rows,))
    route = g.input("route", sg.Selector(experts, hot=1), (rows,))
    parts = x.partition(route, rank=0)
    g.output(sg.reassemble(parts, route, rank=0), "y")
    index = np.random.default_rng(seed).integers(experts, size=rows)
    return g, {"route": np.eye(experts, dtype=bool)[index]}


def expert_of_layer(tokens: int = 4, layers: int = 3, experts: int = 4, seed: int = 0) -> Program:
    """The tile of the best expert of a token in a layer: number ``layer * experts + expert``.

    The tensor has the tiles of all layers one after the other, so one load serves all of them.
    """
    g = sg.Graph("expert_of_layer")
    scores = g.input("scores", sg.f32[1, experts], (tokens,))
    layer = g.input("layer", sg.address[1, 1], (tokens,))
    tiles = g.tensor("tiles", (layers * experts * 2, 8), sg.int8)
    expert = scores.map(sg.fn.argmax())
    number = layer.map(sg.fn.scale(experts)).map(sg.fn.add(), expert)
    g.output(sg.random_offchip_load(number, tiles, tile=(2, 8)), "y")
    at = np.random.default_rng(seed).integers(layers, size=(tokens, 1, 1))
    return g, {"layer": at}


def next_token(tokens: int = 4, slices: int = 3) -> sg.Graph:
    """The word with the largest logit, whose logits come in slices of 8."""
    g = sg.Graph("next_token")
    logits = g.input("logits", sg.f32[1, 8], (tokens, slices))
    g.output(logits.accum(sg.fn.argmax(), rank=1), "y")
    return g


def grouped_weights(
    rows: int = 4, k: int = 16, n: int = 8, group: int = 8, bits: int = 8
) -> sg.Graph:
    """Rows of bf16 times weights of int8 or int4, with a scale for each column and group of K.

    Weights become bf16 as they pass, without an error, and no tile of them is stored. Each group's
    product is rounded once, scaled, and added to those before.
    """
    stored_as = {4: sg.int4, 8: sg.int8}
    if bits not in stored_as:
        raise sg.StepError(f"grouped_weights stores weights of 4 or 8 bits, not of {bits}")
    if group < 1 or k % group:
        raise sg.StepError(f"grouped_weights needs k divisible by group, not {k} by {group}")
    g = sg.Graph("grouped_weights")
    x = g.input("x", sg.bf16[1, k], (rows,))
    w = g.tensor("w", (n, k), stored_as[bits])
    scales = g.tensor("scales", (k // group, n), sg.f32)
    stored, factors = (
        sg.linear_offchip_load(tensor, tile=tile, shape=(k // group,), stride=(1,), ref=x)
        for tensor, tile in ((w, (n, group)), (scales, (1, n)))
    )
    weights = stored.map(sg.fn.convert(sg.bf16))
    parts = x.flat_map(sg.fn.cut_cols(group), rank=1).map(sg.fn.matmul(transpose=True), weights)
    scaled = parts.map(sg.fn.mul(), factors)
    g.output(scaled.accum(sg.fn.add(), rank=1), "y")
    return g
