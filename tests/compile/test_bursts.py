"""Matrix units one behind the other work at the same time, with the depths that are derived."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.experiment import Experiment

ROWS = 16
"""Of a tile: enough for a bubble in each of them to show."""


@pytest.mark.parametrize("seed", range(8))
def test_a_row_waits_between_matrix_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n = 4 * int(rng.integers(5, 12)), 4 * int(rng.integers(12, 32))
    p = k + 4 * int(rng.integers(-1, 2))  # the units are about as fast as each other
    bf16 = bool(rng.integers(2))
    element = sg.bf16 if bf16 else sg.int8
    g = sg.Graph("chain")
    shapes = {"x": (ROWS, k), "v": (k, n), "w": (n, p)}
    x, v, w = (g.input(name, element[shape], (1,)) for name, shape in shapes.items())
    hidden = x.map(sg.fn.matmul(), v)
    narrow = sg.fn.convert(sg.bf16) if bf16 else sg.fn.requantize(shift=4)
    g.output(hidden.map(narrow).map(sg.fn.matmul(), w), "y")
    inputs = {name: np.ones((1, *shape)) for name, shape in shapes.items()}
    experiment = Experiment(g, inputs)
    first, second = k * n // 16, n * p // 16  # cycles of a row
    loading = max(k * n, n * p) // 4
    latency = sum(channel.latency for channel in experiment.design.channels)
    most = loading + ROWS * max(first, second) + min(first, second) + latency
    assert experiment.prediction.cycles <= most + 16
