"""The SwiGLU layer against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure

SMALL = {"batch": 8, "width": 12, "inner": 16, "tile_batch": 4, "tile_inner": 8}


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("tile_width", [None, 4])
@pytest.mark.parametrize(("element", "tolerance"), [("f32", 1e-5), ("bf16", 2e-2)])
def test_it_is_a_swiglu_layer(element: str, tolerance: float, tile_width: int | None) -> None:
    graph, inputs = example("swiglu").swiglu(
        **SMALL, tile_width=tile_width, element=element, seed=2
    )
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    x, gate, up, down = (inputs[n].astype(np.float64) for n in ("x", "gate", "up", "down"))
    expected = (silu(x @ gate) * (x @ up)) @ down
    np.testing.assert_allclose(result.tensors["y"], expected, atol=tolerance, rtol=tolerance)


def test_tiles_that_do_not_divide_are_refused() -> None:
    with pytest.raises(sg.StepError, match="needs inner divisible by its tile, not 512 by 48"):
        example("swiglu").swiglu(tile_inner=48)
    with pytest.raises(sg.StepError, match="needs width divisible by its tile, not 256 by 100"):
        example("swiglu").swiglu(tile_width=100)
    with pytest.raises(sg.StepError, match="works on f32 or bf16, not on int8"):
        example("swiglu").swiglu(element="int8")
