"""The SwiGLU layer in integers (W8A8), in a residual stream of int16.

``y = residual + (silu(x @ gate) * (x @ up)) @ down``. Activations and weights are int8, sums int32.
Each sum is scaled by a fraction of its column, which stands for the scale of the column of weights:
what gate gives to int8, of which a table of 256 entries makes SiLU as int16; what up gives to
int16; their product, an int32, to int8; and what down gives to int16, as the residual is.

A number q stands for ``q * 2**-n``, n being that of `PLACES`; a weight for q times the scale of its
column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import stepgen as sg

PLACES = {"x": 5, "gate": 4, "silu": 12, "up": 12, "hidden": 5, "residual": 11}
"""Binary places of activations."""
MULTIPLIER_BITS = 15
"""Bits of the multiplier of a fraction."""

Array = npt.NDArray[Any]


def quantized(
    batch: int = 16,
    width: int = 32,
    inner: int = 64,
    tile_batch: int = 8,
    tile_inner: int = 32,
    seed: int = 0,
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
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations, weights and scales, by name.
    """
    for what, whole, part in (("batch", batch, tile_batch), ("inner", inner, tile_inner)):
        if part < 1 or whole % part:
            raise sg.StepError(
                f"quantized needs {what} divisible by its tile, not {whole} by {part}"
            )
    g = sg.Graph("quantized")
    blocks, slices = batch // tile_batch, inner // tile_inner
    rows = (tile_batch, width)

    def load(name: str, element: sg.ElementType, tile: tuple[int, int], *stride: int) -> sg.Stream:
        shape = (blocks, slices)[: len(stride)]
        tensor = g.tensor(name, _shapes(batch, width, inner)[name], element)
        return sg.linear_offchip_load(tensor, tile=tile, shape=shape, stride=stride, name=name)

    def scaled(sums: sg.Stream, name: str, to: sg.ElementType, *stride: int) -> sg.Stream:
        """Sums by the fraction of their column."""
        tile = (1, int(sums.tile.cols))
        by, shift = f"{name}_by", f"{name}_shift"
        fractions = load(by, sg.int32, tile, *stride), load(shift, sg.int8, tile, *stride)
        return sums.map(sg.fn.requantize_by(to=to), *fractions)

    x = load("x", sg.int8, rows, 1, 0)
    gate, up = (
        scaled(
            x.map(sg.fn.matmul(), load(name, sg.int8, (width, tile_inner), 0, 1)), name, to, 0, 1
        )
        for name, to in (("gate", sg.int8), ("up", sg.int16))
    )
    product = gate.map(sg.fn.lookup(_silu(), to=sg.int16)).map(sg.fn.mul(), up)
    places = PLACES["silu"] + PLACES["up"] - PLACES["hidden"]
    hidden = product.map(sg.fn.requantize(shift=places))
    sums = hidden.accum(sg.fn.matmul(), load("down", sg.int8, (tile_inner, width), 0, 1), rank=1)
    result = scaled(sums, "down", sg.int16, 0).map(sg.fn.add(), load("residual", sg.int16, rows, 1))
    sg.linear_offchip_store(result, g.tensor("y", (batch, width), sg.int16), name="y")
    return g, _drawn(batch, width, inner, seed)


def _shapes(batch: int, width: int, inner: int) -> dict[str, tuple[int, int]]:
    weights = {"gate": (width, inner), "up": (width, inner), "down": (inner, width)}
    columns = {name: (1, shape[1]) for name, shape in weights.items()}
    return {
        **{"x": (batch, width), "residual": (batch, width)},
        **weights,
        **{f"{name}_by": shape for name, shape in columns.items()},
        **{f"{name}_shift": shape for name, shape in columns.items()},
    }


def _silu() -> list[float]:
    """SiLU of every int8."""
    x = np.arange(-128, 128) * 2.0 ** -PLACES["gate"]
    return [*np.rint(x / (1 + np.exp(-x)) * 2.0 ** PLACES["silu"]).tolist()]


def _drawn(batch: int, width: int, inner: int, seed: int) -> dict[str, Any]:
    """Normal numbers, rounded to integers with their scales."""
    rng, found = np.random.default_rng(seed), {}
    shapes = _shapes(batch, width, inner)
    for name in ("x", "residual"):
        element = np.int8 if name == "x" else np.int16
        found[name] = _nearest(rng.normal(size=shapes[name]) * 2.0 ** PLACES[name], element)
    for name, of, to in (("gate", "x", "gate"), ("up", "x", "up"), ("down", "hidden", "residual")):
        weights = rng.normal(0, shapes[name][0] ** -0.5, shapes[name])
        scale = np.abs(weights).max(axis=0, keepdims=True) / 127
        found[name] = _nearest(weights / scale, np.int8)
        by, shift = _fractions(scale * 2.0 ** (PLACES[to] - PLACES[of]))
        found[f"{name}_by"], found[f"{name}_shift"] = by, shift
    return found


def _nearest(x: Array, element: type[np.signedinteger[Any]]) -> Array:
    limits = np.iinfo(element)
    return np.clip(np.rint(x), limits.min, limits.max).astype(element)


def _fractions(factors: Array) -> tuple[Array, Array]:
    """The multipliers and shifts that come nearest to factors below 2**15."""
    shift = np.clip(MULTIPLIER_BITS - 1 - np.floor(np.log2(factors)), 0, 31).astype(np.int8)
    most = (1 << MULTIPLIER_BITS) - 1
    return np.minimum(np.rint(factors * 2.0**shift), most).astype(np.int32), shift
