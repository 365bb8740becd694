"""The matrix product in tiles of two levels: its value, and what it reads from memory."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.ir.metrics import metrics
from stepgen.semantics.executor import run

UNEVEN = {"m": 6, "n": 30, "k": 14, "block_n": 15, "tile_m": 2, "tile_n": 5, "tile_k": 7}


@pytest.mark.parametrize("sizes", [{}, UNEVEN])
@pytest.mark.parametrize("element", ["int8", "bf16"])
def test_it_is_a_matrix_product(element: str, sizes: dict[str, int]) -> None:
    graph, inputs = example("hierarchical").hierarchical(**sizes, element=element, seed=5)
    kind = np.int64 if element == "int8" else ml_dtypes.bfloat16
    a, b = (inputs[name].astype(kind).astype(np.float64) for name in "ab")
    width = sizes.get("block_n", 16)
    blocks = np.concatenate(np.split(a @ b, b.shape[1] // width, axis=1))
    np.testing.assert_allclose(run(graph, inputs).tensors["c"], blocks, atol=1e-4)


def test_b_is_read_once_and_a_once_for_each_block() -> None:
    m, n, k = 16, 32, 16
    for block_n in (8, 16, 32):
        graph, _ = example("hierarchical").hierarchical(m=m, n=n, k=k, block_n=block_n)
        assert metrics(graph, "paper").traffic == k * n + n // block_n * m * k + 4 * m * n


def test_sizes_that_do_not_divide() -> None:
    with pytest.raises(sg.StepError, match="hierarchical needs n divisible by 12, not 32"):
        example("hierarchical").hierarchical(block_n=12)
    with pytest.raises(sg.StepError, match="hierarchical works on int8 or bf16, not on f32"):
        example("hierarchical").hierarchical(element="f32")
