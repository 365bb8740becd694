"""The feed-forward layer of GPT-2, ``gelu(x @ w1 + b1) @ w2 + b2``, scaled down.

In bf16, with the GELU by tanh that GPT-2 has; sums and biases are f32. Weights are streamed once
per tile of the batch, in tiles of `columns` inner columns, over which the second product is summed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stepgen as sg


def gelu(
    rows: int = 32,
    width: int = 32,
    inner: int | None = None,
    tile: int = 16,
    columns: int = 32,
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the layer and its inputs.

    Parameters
    ----------
    rows, width : int
        Rows and columns of the activations; GPT-2 has a width of 768.
    inner : int, optional
        Columns of the first weight, rows of the second; four times the width, if not given.
    tile : int
        Rows of a tile of activations.
    columns : int
        Columns of a tile of the first weight, rows of a tile of the second.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations, weights and biases, by name.
    """
    inner = 4 * width if inner is None else inner
    for what, whole, part in (("rows", rows, tile), ("inner", inner, columns)):
        if part < 1 or whole % part:
            raise sg.StepError(f"gelu needs {what} divisible by its tile, not {whole} by {part}")
    blocks, slices = rows // tile, inner // columns
    g = sg.Graph("gelu")
    x = g.tensor("x", (rows, width), sg.bf16)
    w1, b1 = g.tensor("w1", (width, inner), sg.bf16), g.tensor("b1", (1, inner), sg.f32)
    w2, b2 = g.tensor("w2", (inner, width), sg.bf16), g.tensor("b2", (1, width), sg.f32)
    y = g.tensor("y", (rows, width), sg.bf16)

    def load(tensor: sg.Tensor, tile: tuple[int, int], *stride: int) -> sg.Stream:
        shape = (blocks, slices)[: len(stride)]
        return sg.linear_offchip_load(
            tensor, tile=tile, shape=shape, stride=stride, name=tensor.name
        )

    layer = load(w1, (width, columns), 0, 1), load(b1, (1, columns), 0, 1)
    first = load(x, (tile, width), 1, 0).map(sg.fn.matmul_add(), *layer)
    hidden = first.map(sg.fn.gelu_tanh()).map(sg.fn.convert(sg.bf16))
    second = hidden.accum(sg.fn.matmul(), load(w2, (columns, width), 0, 1), rank=1)
    result = second.map(sg.fn.add(), load(b2, (1, width), 0))
    sg.linear_offchip_store(result.map(sg.fn.convert(sg.bf16)), y, name="y")

    rng = np.random.default_rng(seed)
    deviations = {x: 1, w1: width**-0.5, b1: 0.5, w2: inner**-0.5, b2: 0.5}
    return g, {
        tensor.name: rng.normal(0, deviation, tensor.shape).astype(np.float32)
        for tensor, deviation in deviations.items()
    }
