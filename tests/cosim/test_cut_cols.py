"""Rows that are cut into heads, and tiles into parts of some columns."""

from pathlib import Path

import numpy as np
import pytest
from snippets import WIDTHS, holds

import stepgen as sg


@pytest.mark.slow
@pytest.mark.parametrize("lanes", WIDTHS)
def test_heads_of_rows_and_of_tiles(lanes: int, tmp_path: Path) -> None:
    """Each head has a matrix of its own; then all are one row again."""
    rng, heads, dim = np.random.default_rng(lanes), 4, 6
    g = sg.Graph("heads")
    x = g.input("x", sg.int8[1, heads * dim], (3,))
    w = g.input("w", sg.int8[dim, 4], (3, heads))
    y = x.flat_map(sg.fn.cut_cols(dim), rank=1).map(sg.fn.matmul(), w)
    g.output(y.accum(sg.fn.retile_col(), rank=1), "y")
    tile = g.input("tile", sg.int16[sg.dynamic("R", bound=4), heads * dim], (2,))
    for width in (dim, 8, 2, heads * dim):
        g.output(tile.flat_map(sg.fn.cut_cols(width), rank=0), f"by_{width}")
    inputs = {
        "x": rng.integers(-9, 10, (3, 1, heads * dim)),
        "w": rng.integers(-9, 10, (3, heads, dim, 4)),
        "tile": rng.integers(-999, 999, (2, 3, heads * dim)),
    }
    wanted = {"y": np.einsum("thd,thdn->thn", inputs["x"].reshape(3, heads, dim), inputs["w"])}
    for width in (dim, 8, 2, heads * dim):
        parts = inputs["tile"].reshape(2, 3, -1, width)
        wanted[f"by_{width}"] = parts.swapaxes(1, 2)
    holds(g, inputs, wanted, lanes, tmp_path)
