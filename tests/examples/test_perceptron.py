"""The two-layer perceptron against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run


def requantized(x: Any) -> Any:
    return np.clip(np.rint(x / 2**6), -128, 127)


@pytest.mark.parametrize("sizes", [{}, {"rows": 6, "width": 13, "inner": 9, "tile": 3}])
@pytest.mark.parametrize("element", ["int8", "bf16"])
def test_it_is_a_perceptron(element: str, sizes: dict[str, int]) -> None:
    graph, inputs = example("perceptron").perceptron(**sizes, element=element, seed=3)
    result = run(graph, inputs).tensors["y"].astype(np.float64)
    x, w1, b1, w2, b2 = (inputs[n].astype(np.float64) for n in ("x", "w1", "b1", "w2", "b2"))
    hidden = np.maximum(x @ w1 + b1, 0)
    if element == "int8":
        np.testing.assert_array_equal(result, requantized(requantized(hidden) @ w2 + b2))
        assert np.mean(np.abs(result) == 127) < 0.1
    else:
        np.testing.assert_allclose(result, hidden @ w2 + b2, atol=0.05, rtol=0.05)


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(sg.StepError, match="needs rows divisible by its tile, not 32 by 5"):
        example("perceptron").perceptron(tile=5)
    with pytest.raises(sg.StepError, match="works on int8 or bf16, not on f32"):
        example("perceptron").perceptron(element="f32")
