"""A matrix product in tiles of two levels: blocks that stay on chip, and tiles within them.

A column block of b is read from memory once, and stored; each row of tiles of a is stored too, and
both are read again tile by tile. So off-chip traffic follows from the block, and the matrix unit's
size from the tile.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import stepgen as sg


def hierarchical(
    m: int = 16,
    n: int = 32,
    k: int = 16,
    block_n: int = 16,
    tile_m: int = 4,
    tile_n: int = 8,
    tile_k: int = 8,
    element: Literal["int8", "bf16"] = "int8",
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the product and its inputs.

    Parameters
    ----------
    m, n, k : int
        Rows and columns of c, columns of a.
    block_n : int
        Columns of a block of b; a is read once for each block.
    tile_m, tile_n, tile_k : int
        Rows and columns of a tile of c, columns of one of a; they divide matrix and block.
    element : {"int8", "bf16"}
        Element type of a and b; that of c is int32 or f32.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
        Its tensor c holds the product's column blocks, one below the other.
    inputs : dict
        Both matrices, by name.
    """
    if element not in ("int8", "bf16"):
        raise sg.StepError(f"hierarchical works on int8 or bf16, not on {element}")
    for what, whole, part in (
        ("m", m, tile_m),
        ("n", n, block_n),
        ("block_n", block_n, tile_n),
        ("k", k, tile_k),
    ):
        if part < 1 or whole < 1 or whole % part:
            raise sg.StepError(f"hierarchical needs {what} divisible by {part}, not {whole}")
    g = sg.Graph("hierarchical")
    a, b = g.tensor("a", (m, k), element), g.tensor("b", (k, n), element)
    blocks, rows, columns, inner = n // block_n, m // tile_m, block_n // tile_n, k // tile_k
    c = g.tensor("c", (blocks * m, block_n), sg.int32 if element == "int8" else sg.f32)

    panels = sg.linear_offchip_load(  # [blocks, rows, inner]
        a, tile=(tile_m, tile_k), shape=(blocks, rows, inner), stride=(0, inner, 1), name="a"
    )
    across = n // tile_n
    block = sg.linear_offchip_load(  # [blocks, columns, inner]
        b,
        tile=(tile_k, tile_n),
        shape=(blocks, columns, inner),
        stride=(columns, 1, across),
        name="b",
    )
    # Both become [blocks, rows, columns, inner].
    left = panels.bufferize(rank=1).streamify(count=columns)
    right = block.bufferize(rank=2).streamify(count=rows)
    sg.linear_offchip_store(left.accum(sg.fn.matmul(), right, rank=1), c, name="c")

    rng = np.random.default_rng(seed)
    if element == "int8":
        return g, {t.name: rng.integers(-128, 128, t.shape) for t in (a, b)}
    return g, {t.name: rng.normal(size=t.shape).astype(np.float32) for t in (a, b)}
