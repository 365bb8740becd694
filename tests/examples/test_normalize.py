"""RMSNorm, LayerNorm and softmax against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run


def expected(name: str, inputs: dict[str, Any], x: Any) -> Any:
    if name == "softmax":
        power = np.exp(x - x.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True)
    if name == "rms_norm":
        return x / np.sqrt(np.mean(x**2, axis=1, keepdims=True) + 1e-6) * inputs["weight"]
    unit = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return unit * inputs["weight"] + inputs["bias"]


@pytest.mark.parametrize("sizes", [{}, {"rows": 6, "width": 13, "tile": 2}])
@pytest.mark.parametrize(("element", "tolerance"), [("f32", 1e-5), ("bf16", 1e-2)])
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax"])
def test_rows_are_normalised(
    name: str, element: str, tolerance: float, sizes: dict[str, int]
) -> None:
    graph, inputs = getattr(example("normalize"), name)(**sizes, element=element, seed=4)
    x = inputs["x"].astype(ml_dtypes.bfloat16) if element == "bf16" else inputs["x"]
    result = run(graph, inputs).tensors["y"].astype(np.float64)
    wanted = expected(name, inputs, x.astype(np.float64))
    np.testing.assert_allclose(result, wanted, atol=tolerance, rtol=tolerance)


def test_a_softmax_of_large_numbers_is_safe() -> None:
    graph, inputs = example("normalize").softmax(element="f32")
    far = inputs | {"x": inputs["x"] + np.float32(1000)}
    result = run(graph, far).tensors["y"]
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-5)


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(sg.StepError, match="rms_norm needs rows divisible by its tile, not 32 by"):
        example("normalize").rms_norm(tile=5)
    with pytest.raises(sg.StepError, match="softmax works on bf16 or f32, not on int8"):
        example("normalize").softmax(element="int8")
