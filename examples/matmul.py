"""A matrix product tiled over M, N and K: ``c = a @ b``.

Each tile of c is the sum of the products of a row of tiles of a and a column of tiles of b, which
are read for it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import stepgen as sg


def matmul(
    m: int = 32,
    n: int = 64,
    k: int = 64,
    tile_m: int = 8,
    tile_n: int = 32,
    tile_k: int = 16,
    element: Literal["int8", "bf16"] = "bf16",
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the product and its inputs.

    Parameters
    ----------
    m, n, k : int
        Rows and columns of c, columns of a.
    tile_m, tile_n, tile_k : int
        The same of a tile; they divide the matrix.
    element : {"int8", "bf16"}
        Element type of a and b; that of c is int32 or f32.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Both matrices, by name.
    """
    if element not in ("int8", "bf16"):
        raise sg.StepError(f"matmul works on int8 or bf16, not on {element}")
    for what, whole, part in (("m", m, tile_m), ("n", n, tile_n), ("k", k, tile_k)):
        if part < 1 or whole % part:
            raise sg.StepError(f"matmul needs {what} divisible by its tile, not {whole} by {part}")
    g = sg.Graph("matmul")
    a, b = g.tensor("a", (m, k), element), g.tensor("b", (k, n), element)
    c = g.tensor("c", (m, n), sg.int32 if element == "int8" else sg.f32)
    tiles = (m // tile_m, n // tile_n, k // tile_k)
    rows = sg.linear_offchip_load(
        a, tile=(tile_m, tile_k), shape=tiles, stride=(tiles[2], 0, 1), name="a"
    )
    columns = sg.linear_offchip_load(
        b, tile=(tile_k, tile_n), shape=tiles, stride=(0, 1, tiles[1]), name="b"
    )
    sg.linear_offchip_store(rows.accum(sg.fn.matmul(), columns, rank=1), c, name="c")
    rng = np.random.default_rng(seed)
    if element == "int8":
        return g, {t.name: rng.integers(-128, 128, t.shape) for t in (a, b)}
    return g, {t.name: rng.normal(size=t.shape).astype(np.float32) for t in (a, b)}
