"""The SwiGLU layer of a transformer: ``silu(x @ gate) * (x @ up) @ down``.

Figure 8 of the paper, by default with its sizes: gate, up and down are streamed once per tile of
the batch, in tiles of `tile_inner` columns (rows for down). The products with gate and up are
accumulated over the tiles of the width, of which the paper has one, that with down over the inner
tiles.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import stepgen as sg


def swiglu(
    batch: int = 64,
    width: int = 256,
    inner: int = 512,
    tile_batch: int = 16,
    tile_inner: int = 64,
    tile_width: int | None = None,
    element: Literal["f32", "bf16"] = "bf16",
    seed: int = 0,
    data: bool = True,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    batch, width : int
        Rows and columns of the activations.
    inner : int
        Columns of gate and up, rows of down.
    tile_batch, tile_inner : int
        Rows of a tile of activations, columns of a tile of gate and up.
    tile_width : int, optional
        Columns of a tile of activations, rows of a tile of gate and up; by default all.
    element : {"f32", "bf16"}
        Element type of activations and weights; sums and the result are f32. The figure has f32, a
        circuit is for bf16.
    seed : int
        Seed of everything drawn.
    data : bool
        Whether to draw activations and weights; without them the program can be costed and timed.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations and weights, by name.
    """
    if element not in ("f32", "bf16"):
        raise sg.StepError(f"swiglu works on f32 or bf16, not on {element}")
    tile_width = width if tile_width is None else tile_width
    for what, whole, part in (
        ("batch", batch, tile_batch),
        ("inner", inner, tile_inner),
        ("width", width, tile_width),
    ):
        if part < 1 or whole % part:
            raise sg.StepError(f"swiglu needs {what} divisible by its tile, not {whole} by {part}")
    g = sg.Graph("swiglu")
    shapes = {"x": (batch, width), "gate": (width, inner), "up": (width, inner)}
    shapes["down"] = (inner, width)
    tensors = {name: g.tensor(name, shape, element) for name, shape in shapes.items()}
    y = g.tensor("y", (batch, width), sg.f32)
    blocks, slices, depth = batch // tile_batch, inner // tile_inner, width // tile_width

    def load(name: str, tile: tuple[int, int], *stride: int) -> sg.Stream:
        shape = (blocks, slices, depth)[: len(stride)]
        return sg.linear_offchip_load(
            tensors[name], tile=tile, shape=shape, stride=stride, name=name
        )

    rows = load("x", (tile_batch, tile_width), depth, 0, 1)
    gate, up = (
        rows.accum(sg.fn.matmul(), load(name, (tile_width, tile_inner), 0, 1, slices), rank=1)
        for name in ("gate", "up")
    )
    hidden = gate.map(sg.fn.silu()).map(sg.fn.mul(), up)
    if element == "bf16":
        hidden = hidden.map(sg.fn.convert(sg.bf16))
    result = hidden.accum(sg.fn.matmul(), load("down", (tile_inner, width), 0, 1), rank=1)
    sg.linear_offchip_store(result, y, name="y")
    if not data:
        return g, {}
    rng = np.random.default_rng(seed)
    return g, {
        name: rng.normal(0, 1 if name == "x" else shape[0] ** -0.5, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
