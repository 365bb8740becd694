"""Padding has the same bits in reference and circuit, whatever its number and element type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.semantics.numbers import DTYPES

PADS = (0, 1, -3, 7)
FRACTIONS = (1 / 3, -2.5, 1e-3, 3e38, 1e-45, -1e-39, 65537.0, float("inf"))


@pytest.mark.slow
def test_padding_of_every_element_type_is_that_of_the_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    g = sg.Graph("padded")
    inputs = {}
    for element in (sg.int8, sg.int32, sg.bf16, sg.f32, sg.bool_):
        floats = element in (sg.bf16, sg.f32)
        pads = (0, 1) if element is sg.bool_ else (*PADS, *FRACTIONS) if floats else PADS
        for n, pad in enumerate(rng.permutation(pads)[:3]):
            name = f"{element.name}_{n}"
            x = g.input(name, sg.Tile(1, 2, element), (2,))
            data, _ = x.reshape(chunk=3, pad=float(pad) if floats else int(pad))
            g.output(data, f"y_{name}")
            inputs[name] = np.zeros((2, 1, 2), DTYPES[element.name])
    verdict = Experiment(g, inputs, lanes=2).test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert not verdict.outcome.faults
