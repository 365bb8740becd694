"""Matrix-vector products with static and dynamic tiles.

A gate selects vectors of a stream, and each is multiplied by one matrix from off-chip memory. With
static tiling the matrix is read for every `tile` of them: by default for each alone, a plain
matrix-vector product. With dynamic tiling all selected vectors form one tile, whose rows are
counted at run time, and the matrix is read once, or not at all if there are none.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import stepgen as sg


def matvec(
    vectors: int = 16,
    selected: int = 8,
    width: int = 32,
    columns: int = 64,
    tiling: Literal["static", "dynamic"] = "static",
    tile: int = 1,
    element: Literal["int8", "bf16"] = "bf16",
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the products and their inputs.

    Parameters
    ----------
    vectors, selected : int
        How many vectors there are at most, and how many of them the gate selects: known at run
        time only, so the circuit is the same for all.
    width, columns : int
        Rows and columns of the matrix.
    tiling : {"static", "dynamic"}
        How the selected vectors are grouped.
    tile : int
        Vectors of a static tile.
    element : {"int8", "bf16"}
        Element type of vectors and matrix; that of results is int32 or f32.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Gate, vectors and matrix, by name.
    """
    if tiling not in ("static", "dynamic"):
        raise sg.StepError(f'matvec needs tiling "static" or "dynamic", not {tiling!r}')
    if element not in ("int8", "bf16"):
        raise sg.StepError(f"matvec works on int8 or bf16, not on {element}")
    if not 0 <= selected <= vectors:
        raise sg.StepError(f"matvec can select 0 to {vectors} vectors, not {selected}")
    g = sg.Graph(f"matvec_{tiling}")
    x, w = g.tensor("x", (vectors, width), element), g.tensor("w", (width, columns), element)
    y = g.tensor("y", (vectors, columns), sg.int32 if element == "int8" else sg.f32)
    gate = g.input("gate", sg.Selector(1), (vectors,))

    rows = sg.linear_offchip_load(x, tile=(1, width), shape=(vectors,), stride=(1,), name="x")
    (passed,) = sg.partition(rows, gate, rank=0)
    if tiling == "static":
        groups, padding = passed.reshape(chunk=tile, pad=0)
    else:
        groups, padding = passed.promote(), None
    packed = groups.accum(sg.fn.retile_row(), rank=1)
    matrix = sg.linear_offchip_load(
        w, tile=(width, columns), shape=(1,), stride=(0,), ref=packed, name="w"
    ).flatten(0, 1)
    product = packed.map(sg.fn.matmul(), matrix)
    results = product.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=padding)
    sg.linear_offchip_store(results, y, name="y")

    rng = np.random.default_rng(seed)
    inputs: dict[str, Any] = {"gate": rng.permutation(np.arange(vectors) < selected)[:, None]}
    for tensor in (x, w):
        drawn = rng.integers(-128, 128, tensor.shape)
        inputs[tensor.name] = drawn if element == "int8" else (drawn / 64).astype(np.float32)
    return g, inputs
