"""RMSNorm, LayerNorm and the safe softmax of rows.

`stepgen run normalize:rms_norm`, `normalize:layer_norm`, `normalize:softmax`. Rows are read and
written in bf16 or f32; sums and functions are f32.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

import stepgen as sg

Element = Literal["bf16", "f32"]
Program = tuple[sg.Graph, dict[str, Any]]


def rms_norm(
    rows: int = 32, width: int = 32, tile: int = 8, element: Element = "bf16", seed: int = 0
) -> Program:
    """``x / sqrt(mean(x**2) + 1e-6) * weight``, as in Llama.

    Parameters
    ----------
    rows, width : int
        Rows and columns of the activations.
    tile : int
        Rows of a tile: the weight is read once for each.
    element : {"bf16", "f32"}
        Element type of the activations; the weight is f32.
    seed : int
        Seed of everything drawn.

    Returns
    -------
    graph : Graph
    inputs : dict
        Activations and weight, by name.
    """
    g = sg.Graph("rms_norm")
    x = _load_rows(g, rows, width, tile, element)
    mean = x.map(sg.fn.square()).map(sg.fn.row_sum()).map(sg.fn.scale(1 / width))
    unit = x.map(sg.fn.mul(), mean.map(sg.fn.offset(1e-6)).map(sg.fn.rsqrt()))
    y = unit.map(sg.fn.mul(), _load_row(g, "weight", width, rows // tile))
    _store(y, rows, width, element)
    return g, _drawn(g, seed)


def layer_norm(
    rows: int = 32, width: int = 32, tile: int = 8, element: Element = "bf16", seed: int = 0
) -> Program:
    """``(x - mean(x)) / sqrt(variance(x) + 1e-5) * weight + bias``, as in GPT-2.

    Parameters and results are those of `rms_norm`, and a bias like the weight.
    """
    g = sg.Graph("layer_norm")
    x = _load_rows(g, rows, width, tile, element)
    centred = x.map(sg.fn.sub(), x.map(sg.fn.row_sum()).map(sg.fn.scale(1 / width)))
    variance = centred.map(sg.fn.square()).map(sg.fn.row_sum()).map(sg.fn.scale(1 / width))
    unit = centred.map(sg.fn.mul(), variance.map(sg.fn.offset(1e-5)).map(sg.fn.rsqrt()))
    weighted = unit.map(sg.fn.mul(), _load_row(g, "weight", width, rows // tile))
    y = weighted.map(sg.fn.add(), _load_row(g, "bias", width, rows // tile))
    _store(y, rows, width, element)
    return g, _drawn(g, seed)


def softmax(
    rows: int = 32, width: int = 32, tile: int = 8, element: Element = "bf16", seed: int = 0
) -> Program:
    """``exp(x - max(x)) / sum(exp(x - max(x)))``: no power is above 1.

    Parameters and results are those of `rms_norm`, without a weight.
    """
    g = sg.Graph("softmax")
    x = _load_rows(g, rows, width, tile, element)
    power = x.map(sg.fn.sub(), x.map(sg.fn.row_max())).map(sg.fn.exp())
    y = power.map(sg.fn.div(), power.map(sg.fn.row_sum()))
    _store(y, rows, width, element)
    return g, _drawn(g, seed)


def _load_rows(g: sg.Graph, rows: int, width: int, tile: int, element: Element) -> sg.Stream:
    """Tiles of the activations, as f32."""
    if element not in ("bf16", "f32"):
        raise sg.StepError(f"{g.name} works on bf16 or f32, not on {element}")
    if tile < 1 or rows % tile:
        raise sg.StepError(f"{g.name} needs rows divisible by its tile, not {rows} by {tile}")
    x = g.tensor("x", (rows, width), element)
    tiles = sg.linear_offchip_load(
        x, tile=(tile, width), shape=(rows // tile,), stride=(1,), name="x"
    )
    return tiles if element == "f32" else tiles.map(sg.fn.convert(sg.f32))


def _load_row(g: sg.Graph, name: str, width: int, times: int) -> sg.Stream:
    """A row of parameters, so many times."""
    row = g.tensor(name, (1, width), sg.f32)
    return sg.linear_offchip_load(row, tile=(1, width), shape=(times,), stride=(0,), name=name)


def _store(y: sg.Stream, rows: int, width: int, element: Element) -> None:
    result = y if element == "f32" else y.map(sg.fn.convert(sg.bf16))
    sg.linear_offchip_store(result, y.graph.tensor("y", (rows, width), element), name="y")


def _drawn(g: sg.Graph, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    means = {"x": 0, "weight": 1, "bias": 0}
    return {
        name: rng.normal(means[name], 1, tensor.shape).astype(np.float32)
        for name, tensor in g.tensors.items()
        if name in means
    }
