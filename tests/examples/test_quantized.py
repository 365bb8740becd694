"""The SwiGLU layer in integers against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure

UNEVEN = {"batch": 6, "width": 13, "inner": 18, "tile_batch": 3, "tile_inner": 9}

PAIRS = {"batch": 6, "width": 14, "inner": 30, "tile_batch": 3, "tile_inner": 10, "group": 7}


def weights(inputs: dict[str, Any], name: str, places: int) -> Any:
    """Weights with the scales of their columns, as numbers."""
    scale = inputs[f"{name}_by"] / 2.0 ** inputs[f"{name}_shift"]
    return inputs[name] * scale / 2.0**places


@pytest.mark.parametrize("sizes", [{}, UNEVEN], ids=["even", "uneven"])
def test_it_is_a_swiglu_layer(sizes: dict[str, int]) -> None:
    """Of real numbers: what integers lose is a small part of what is added."""
    module = example("quantized")
    graph, inputs = module.quantized(**sizes, seed=4)
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    at = module.PLACES
    x, residual = (inputs[name] * 2.0 ** -at[name] for name in ("x", "residual"))
    gate = x @ weights(inputs, "gate", at["gate"] - at["x"])
    up = x @ weights(inputs, "up", at["up"] - at["x"])
    hidden = gate / (1 + np.exp(-gate)) * up
    added = hidden @ weights(inputs, "down", at["residual"] - at["hidden"])
    y = result.tensors["y"] * 2.0 ** -at["residual"]
    assert np.sqrt(np.mean((y - residual - added) ** 2)) < 0.06 * added.std()


@pytest.mark.parametrize(
    "sizes",
    [{}, {"batch": 6, "width": 14, "inner": 30, "tile_batch": 3, "tile_inner": 10, "group": 7}],
)
def test_weights_of_four_bits(sizes: dict[str, int]) -> None:
    module = example("quantized")
    graph, inputs = module.quantized(**sizes, weights="int4", seed=5)
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    at, real = module.PLACES, {}
    for name, places in (("gate", at["x"]), ("up", at["x"]), ("down", at["hidden"])):
        assert np.abs(inputs[name]).max() == 7
        scale = inputs[f"{name}_scale"] * 2.0**places
        real[name] = inputs[name] * scale.repeat(len(inputs[name]) // len(scale), axis=0)
    x, residual = (inputs[name] * 2.0 ** -at[name] for name in ("x", "residual"))
    gate = x @ real["gate"]
    hidden = np.clip(gate / (1 + np.exp(-gate)) * (x @ real["up"]), -4, 127 / 32)
    added = hidden @ real["down"]
    y = result.tensors["y"] * 2.0 ** -at["residual"]
    assert np.sqrt(np.mean((y - residual - added) ** 2)) < 0.05 * added.std()


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(sg.StepError, match="quantized has weights of int8 or int4, not of bf16"):
        example("quantized").quantized(weights="bf16")
    with pytest.raises(sg.StepError, match="quantized needs width divisible by its tile, not 32 b"):
        example("quantized").quantized(weights="int4", group=5)


def test_tiles_that_do_not_divide_are_refused() -> None:
    with pytest.raises(sg.StepError, match="quantized needs inner divisible by its tile, not 64"):
        example("quantized").quantized(tile_inner=48)
    with pytest.raises(sg.StepError, match="quantized needs batch divisible by its tile, not 16 b"):
        example("quantized").quantized(tile_batch=5)
