"""The tiled matrix product against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run

UNEVEN = {"m": 6, "n": 15, "k": 14, "tile_m": 2, "tile_n": 5, "tile_k": 7}


@pytest.mark.parametrize("sizes", [{}, UNEVEN])
@pytest.mark.parametrize("element", ["int8", "bf16"])
def test_it_is_a_matrix_product(element: str, sizes: dict[str, int]) -> None:
    graph, inputs = example("matmul").matmul(**sizes, element=element, seed=5)
    kind = np.int64 if element == "int8" else ml_dtypes.bfloat16
    a, b = (inputs[name].astype(kind).astype(np.float64) for name in "ab")
    np.testing.assert_allclose(run(graph, inputs).tensors["c"], a @ b, atol=1e-4)


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(sg.StepError, match="matmul needs n divisible by its tile, not 64 by 24"):
        example("matmul").matmul(tile_n=24)
    with pytest.raises(sg.StepError, match="matmul works on int8 or bf16, not on f32"):
        example("matmul").matmul(element="f32")
