"""Queries, keys and values by one matrix unit, and the two halves of a gated layer."""

from pathlib import Path

import numpy as np
import pytest
from snippets import WIDTHS, holds

import stepgen as sg

LAYERS, WIDTH, DIM = 2, 8, 4


@pytest.mark.slow
@pytest.mark.parametrize("lanes", WIDTHS)
def test_one_matrix_unit_for_queries_keys_and_values(lanes: int, tmp_path: Path) -> None:
    """Of each row of each layer; the keys of a row come behind those of its cache."""
    rng, heads = np.random.default_rng(lanes), (4, 2, 2)
    g = sg.Graph("attention")
    x = g.input("x", sg.int8[1, WIDTH], (2, LAYERS))
    w = g.tensor("w", (8 * WIDTH, DIM), sg.int8)
    tiles = sg.linear_offchip_load(w, tile=(WIDTH, DIM), shape=(8,), stride=(1,), ref=x)
    rows = x.promote(0).expand(tiles)
    q, k, v = rows.map(sg.fn.matmul(), tiles).map(sg.fn.requantize(shift=3)).split(heads)
    pairs = k.promote(0).expand(count=2).flatten(0, 1)
    g.output(q.map(sg.fn.mul(), pairs).map(sg.fn.row_sum()), "scores")
    cache = g.input("cache", sg.int8[1, DIM], (2, LAYERS, sg.dynamic("T", bound=4)))
    g.output(sg.concat([cache, k]), "keys")
    g.output(v, "values")
    low, high = v.split((1, 1))
    g.output(low.map(sg.fn.maximum(), high), "gated")
    inputs = {
        "x": rng.integers(-9, 10, (2, LAYERS, 1, WIDTH)),
        "w": rng.integers(-9, 10, (8 * WIDTH, DIM)),
        "cache": rng.integers(-9, 10, (2, LAYERS, 3, 1, DIM)),
    }
    product = np.einsum("bltk,hkd->blhtd", inputs["x"], inputs["w"].reshape(8, WIDTH, DIM))
    all_heads = np.clip(np.rint(product / 8), -128, 127).astype(int)
    queries, keys, values = np.split(all_heads, (4, 6), axis=2)
    wanted = {
        "scores": (queries * np.repeat(keys, 2, axis=2)).sum(axis=-1),
        "keys": np.concatenate([inputs["cache"], keys], axis=2),
        "values": values,
        "gated": np.maximum(values[:, :, :1], values[:, :, 1:]),
    }
    holds(g, inputs, wanted, lanes, tmp_path)
