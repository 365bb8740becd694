"""Verilog with the hard blocks of a family, simulated with their models."""

from __future__ import annotations

import re

import numpy as np
import pytest
from icarus import needs_icarus
from seeds import others_slow

import stepgen as sg
from stepgen.cosim.builds import built
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.emit import families
from stepgen.emit.wraps import FAMILIES

BLOCKS = {
    "ecp5": {"DP16KD", "MULT18X18D", "TRELLIS_FF"},
    "gowin": {"SDPB", "SDPX9B", "MULT9X9", "MULT18X18"},
    "ice40": {"SB_MAC16"},
    "xilinx": {"RAMB18E1", "DSP48E1"},
}


def program() -> Experiment:
    """Multipliers of two widths, and block RAMs of rows that are wide, narrow, or constants."""
    g = sg.Graph("blocks")
    x = g.input("x", sg.int8[2, 6], (3, 2))
    w = g.input("w", sg.int8[6, 8], (3, 2))
    for name, bound in (("wide", 40), ("narrow", 1100)):
        rows = g.input(name, sg.int8[sg.ragged(name.upper(), bound=bound), 8], (1, 2))
        g.output(rows.bufferize(rank=1).streamify(count=2), f"{name}_twice")
    z = x.map(sg.fn.matmul(), w).map(sg.fn.requantize(multiplier=19661, shift=18))
    g.output(z.bufferize(rank=1).streamify(count=2), "z")
    g.output(g.input("s", sg.f32[1, 3], (2,)).map(sg.fn.silu()), "t")
    rng = np.random.default_rng(1)
    drawn = {
        "x": rng.integers(-128, 128, (3, 2, 2, 6), np.int8),
        "w": rng.integers(-128, 128, (3, 2, 6, 8), np.int8),
        **{
            name: [[rng.integers(-128, 128, (n, 8), np.int8) for n in (3, 1)]]
            for name in ("wide", "narrow")
        },
        "s": rng.standard_normal((2, 1, 3)).astype(np.float32),
    }
    return Experiment(g, drawn)


def verdict(experiment: Experiment, family: str, folder, simulator="verilator"):
    simulation = built(experiment.design, junk=True, family=family, simulator=simulator)
    (said,) = simulate([experiment], folder, simulator=simulator, simulation=simulation)
    return said


@pytest.mark.parametrize("family", others_slow(FAMILIES, ("ecp5",)))
def test_blocks_and_their_models_agree_with_reference_and_prediction(family, tmp_path) -> None:
    experiment = program()
    texts = {file: text for _, file, text in families.for_families(experiment.design, [family])}
    names = {*re.findall(r"^  ([A-Z][A-Z\d_]+) ", texts[f"blocks_{family}.v"], re.M)}
    assert BLOCKS[family] <= names
    assert {*re.findall(r"^module (\w+)", texts[f"blocks_{family}_models.v"], re.M)} >= names
    assert verdict(experiment, family, tmp_path).good


@needs_icarus
@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_they_do_with_four_states(family, tmp_path) -> None:
    assert verdict(program(), family, tmp_path, "icarus").good


@pytest.mark.slow
def test_a_model_that_is_wrong_is_found(tmp_path, monkeypatch) -> None:
    wrong = families.models("ice40").replace("middle <= a * b", "middle <= a * b + 1")
    monkeypatch.setattr("stepgen.cosim.builds.models", lambda family: wrong)
    assert not verdict(program(), "ice40", tmp_path).good
