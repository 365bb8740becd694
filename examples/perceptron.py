"""A two-layer perceptron with ReLU: ``relu(x @ w1 + b1) @ w2 + b2``.

A tile of rows after the other; all weights and biases are read once for each. In int8 products and
biases are int32, and requantized after each layer; in bf16 they are f32, and rounded.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import stepgen as sg

SHIFT = 6
"""Shift of the requantization: sums of 32 to 64 products of drawn numbers then about fit int8."""


def perceptron(
    rows: int = 32,
    width: int = 32,
    inner: int = 64,
    tile: int = 8,
    element: Literal["int8", "bf16"] = "int8",
    seed: int = 0,
) -> tuple[sg.Graph, dict[str, Any]]:
    """Build the perceptron and its inputs.

    Parameters
    ----------
    rows, width : int
        Rows and columns of the activations.
    inner : int
        Columns of the first layer's weight, rows of the second's.
    tile : int
        Rows of a tile of activations.
    element : {"int8", "bf16"}
        Element type of activations and weights.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations, weights and biases, by name.
    """
    if element not in ("int8", "bf16"):
        raise sg.StepError(f"perceptron works on int8 or bf16, not on {element}")
    if tile < 1 or rows % tile:
        raise sg.StepError(f"perceptron needs rows divisible by its tile, not {rows} by {tile}")
    wide = sg.int32 if element == "int8" else sg.f32
    narrow = sg.fn.requantize(shift=SHIFT) if element == "int8" else sg.fn.convert(sg.bf16)
    blocks = rows // tile
    g = sg.Graph("perceptron")
    x = g.tensor("x", (rows, width), element)
    w1, b1 = g.tensor("w1", (width, inner), element), g.tensor("b1", (1, inner), wide)
    w2, b2 = g.tensor("w2", (inner, width), element), g.tensor("b2", (1, width), wide)
    y = g.tensor("y", (rows, width), element)

    def load_whole(tensor: sg.Tensor) -> sg.Stream:
        return sg.linear_offchip_load(
            tensor, tile=tensor.shape, shape=(blocks,), stride=(0,), name=tensor.name
        )

    tiles = sg.linear_offchip_load(x, tile=(tile, width), shape=(blocks,), stride=(1,), name="x")
    first = tiles.map(sg.fn.matmul(), load_whole(w1)).map(sg.fn.add(), load_whole(b1))
    hidden = first.map(sg.fn.at_least(0)).map(narrow)
    second = hidden.map(sg.fn.matmul(), load_whole(w2)).map(sg.fn.add(), load_whole(b2))
    sg.linear_offchip_store(second.map(narrow), y, name="y")

    rng = np.random.default_rng(seed)
    return g, {t.name: _drawn(rng, t) for t in (x, w1, b1, w2, b2)}


def _drawn(rng: np.random.Generator, tensor: sg.Tensor) -> npt.NDArray[Any]:
    """Small integers, or normal numbers that keep the size of a row when weights are multiplied."""
    if tensor.element in (sg.int8, sg.int32):
        most = 16 if tensor.element == sg.int8 else 256
        return rng.integers(-most, most + 1, tensor.shape)
    deviation = 1 if tensor.name == "x" else tensor.shape[0] ** -0.5
    return rng.normal(0, deviation, tensor.shape).astype(np.float32)
