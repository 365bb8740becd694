"""The SwiGLU layer in integers, W8A8 or W4A8, in a residual stream of int16.

``y = residual + (silu(x @ gate) * (x @ up)) @ down``. Activations and weights are int8, sums int32.
Each sum is scaled by a fraction of its column, which stands for the scale of the column of weights:
what gate gives to int8, of which a table of 256 entries makes SiLU as int16; what up gives to
int16; their product, an int32, to int8; and what down gives to int16, as the residual is.

Weights of int4 have a scale for each column of a group of rows: the int32 sums of a group become
f32 and are multiplied by it, and groups are added up. SiLU and its product are bf16 then, and the
result is rounded to int8 again.

A number q stands for ``q * 2**-n``, n being that of `PLACES`; a weight for q times its scale.
"""

from __future__ import annotations

from typing import Any, Literal

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
    weights: Literal["int8", "int4"] = "int8",
    group: int = 16,
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
    weights : {"int8", "int4"}
        Element type of weights.
    group : int
        Rows of gate and up that share scales, for int4; of down it is the rows of a tile.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations, weights and scales, by name.
    """
    if weights not in ("int8", "int4"):
        raise sg.StepError(f"quantized has weights of int8 or int4, not of {weights}")
    if min(batch, width, inner, group) < 1:
        raise sg.StepError(
            f"quantized needs positive sizes, not batch={batch}, width={width}, inner={inner}, "
            f"group={group}"
        )
    parts = [("batch", batch, tile_batch), ("inner", inner, tile_inner)]
    for what, whole, part in (*parts, *([("width", width, group)] if weights == "int4" else [])):
        if part < 1 or whole % part:
            raise sg.StepError(
                f"quantized needs {what} divisible by its tile, not {whole} by {part}"
            )
    g = sg.Graph("quantized")
    inputs = _drawn((batch, width, inner), (group, tile_inner) if weights == "int4" else None, seed)
    blocks, slices, groups = batch // tile_batch, inner // tile_inner, width // group
    rows = (tile_batch, width)

    def load(
        name: str,
        element: sg.ElementType | Literal["int8", "int4"],
        tile: tuple[int, int],
        *stride: int,
    ) -> sg.Stream:
        shape = (blocks, slices, groups)[: len(stride)]
        tensor = g.tensor(name, inputs[name].shape, element)
        return sg.linear_offchip_load(tensor, tile=tile, shape=shape, stride=stride, name=name)

    def scaled(sums: sg.Stream, name: str, to: sg.ElementType, *stride: int) -> sg.Stream:
        """Sums by the fraction of their column."""
        tile = (1, int(sums.tile.cols))
        by, shift = f"{name}_by", f"{name}_shift"
        fractions = load(by, sg.int32, tile, *stride), load(shift, sg.int8, tile, *stride)
        return sums.map(sg.fn.requantize_by(to=to), *fractions)

    def summed(x: sg.Stream, name: str, tile: tuple[int, int], *stride: int) -> sg.Stream:
        """Products over groups, each with its scales, in f32."""
        product = x.map(sg.fn.matmul(), load(name, sg.int4, tile, *stride))
        scale = load(f"{name}_scale", sg.f32, (1, tile[1]), *stride)
        return product.map(sg.fn.convert(sg.f32)).map(sg.fn.mul(), scale).accum(sg.fn.add(), rank=1)

    if weights == "int4":
        x = load("x", sg.int8, (tile_batch, group), groups, 0, 1)
        gate, up = (
            summed(x, name, (group, tile_inner), 0, 1, slices).map(sg.fn.convert(sg.bf16))
            for name in ("gate", "up")
        )
        product = gate.map(sg.fn.silu()).map(sg.fn.mul(), up)
        hidden = product.map(sg.fn.scale(2.0 ** PLACES["hidden"])).map(sg.fn.convert(sg.int8))
        result = summed(hidden, "down", (tile_inner, width), 0, 1)
        added = result.map(sg.fn.scale(2.0 ** PLACES["residual"])).map(sg.fn.convert(sg.int16))
        return g, _finished(g, added, load("residual", sg.int16, rows, 1), inputs)
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
    added = scaled(sums, "down", sg.int16, 0)
    return g, _finished(g, added, load("residual", sg.int16, rows, 1), inputs)


def _finished(
    g: sg.Graph, added: sg.Stream, residual: sg.Stream, inputs: dict[str, Any]
) -> dict[str, Any]:
    """The inputs, once the layer's result is added to the residual and written."""
    y = g.tensor("y", inputs["residual"].shape, sg.int16)
    sg.linear_offchip_store(added.map(sg.fn.add(), residual), y, name="y")
    return inputs


def _silu() -> tuple[float, ...]:
    """SiLU of every int8."""
    x = np.arange(-128, 128) * 2.0 ** -PLACES["gate"]
    return tuple(np.rint(x / (1 + np.exp(-x)) * 2.0 ** PLACES["silu"]).tolist())


def _drawn(
    sizes: tuple[int, int, int], groups: tuple[int, int] | None, seed: int
) -> dict[str, Any]:
    """Normal numbers, rounded to integers with their scales.

    Parameters
    ----------
    sizes : tuple of int
        Rows and columns of activations, and inner columns.
    groups : tuple of int or None
        Rows of groups of gate and up, and of down, in int4; None for int8.
    seed : int
    """
    (batch, width, inner), found = sizes, {}
    rng = np.random.default_rng(seed)
    for name, element in (("x", np.int8), ("residual", np.int16)):
        found[name] = _nearest(rng.normal(size=(batch, width)) * 2.0 ** PLACES[name], element)
    for name, of, to in (("gate", "x", "gate"), ("up", "x", "up"), ("down", "hidden", "residual")):
        rows, columns = (inner, width) if name == "down" else (width, inner)
        weights = rng.normal(0, rows**-0.5, (rows, columns))
        count = 1 if groups is None else rows // groups[name == "down"]
        grouped = weights.reshape(count, -1, columns)
        scale = np.abs(grouped).max(axis=1) / (127 if groups is None else 7)
        found[name] = _nearest(grouped / scale[:, None], np.int8).reshape(rows, columns)
        if groups is None:
            by, shift = _fractions(scale * 2.0 ** (PLACES[to] - PLACES[of]))
            found |= {f"{name}_by": by, f"{name}_shift": shift}
        else:
            found[f"{name}_scale"] = (scale * 2.0 ** -PLACES[of]).astype(np.float32)
    return found


def _nearest(x: Array, element: type[np.signedinteger[Any]]) -> Array:
    limits = np.iinfo(element)
    return np.clip(np.rint(x), limits.min, limits.max).astype(element)


def _fractions(factors: Array) -> tuple[Array, Array]:
    """The multipliers and shifts that come nearest to factors below 2**15."""
    shift = np.clip(MULTIPLIER_BITS - 1 - np.floor(np.log2(factors)), 0, 31).astype(np.int8)
    most = (1 << MULTIPLIER_BITS) - 1
    return np.minimum(np.rint(factors * 2.0**shift), most).astype(np.int32), shift
