"""The feed-forward layer of GPT-2 against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run

UNEVEN = {"rows": 6, "width": 10, "inner": 21, "tile": 3, "columns": 7}


@pytest.mark.parametrize("sizes", [{}, UNEVEN])
def test_it_is_a_feed_forward_layer(sizes: dict[str, int]) -> None:
    graph, inputs = example("gelu").gelu(**sizes, seed=6)
    x, w1, b1, w2, b2 = (inputs[n].astype(np.float64) for n in ("x", "w1", "b1", "w2", "b2"))
    first = x @ w1 + b1
    hidden = first / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (first + 0.044715 * first**3)))
    result = run(graph, inputs).tensors["y"].astype(np.float64)
    np.testing.assert_allclose(result, hidden @ w2 + b2, atol=0.05, rtol=0.05)


def test_tiles_that_do_not_divide_are_refused() -> None:
    with pytest.raises(sg.StepError, match="gelu needs inner divisible by its tile, not 128 by 48"):
        example("gelu").gelu(columns=48)
    with pytest.raises(sg.StepError, match="gelu needs rows divisible by its tile, not 32 by 5"):
        example("gelu").gelu(tile=5)
