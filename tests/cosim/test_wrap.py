"""Modules around a design: every interface is driven by an independent model of its protocol."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from icarus import SIMULATORS
from own_bench import simulated
from programs import ROWS
from wrapped_case import of_streams

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.emit.design_writer import write
from stepgen.program.program import Program

HERE = Path(__file__).parent


def program() -> Program:
    """Streams of all kinds, a tensor that is read and one that is written."""
    g = sg.Graph("wrapped")
    x = g.input("x", sg.int8[1, 8], (ROWS,))
    gate = g.input("gate", sg.Selector(1), (ROWS,))
    w, y = g.tensor("w", (8, 8), sg.int8), g.tensor("y", (ROWS, 8), sg.int32)
    (passed,) = sg.partition(x, gate, rank=0)
    tile = passed.promote().accum(sg.fn.retile_row(), rank=1)
    loaded = sg.linear_offchip_load(w, tile=(8, 8), shape=(1,), stride=(1,), ref=tile)
    rows = tile.map(sg.fn.matmul(), loaded.flatten(0, 1))
    sg.linear_offchip_store(rows.flat_map(sg.fn.retile_streamify("row"), rank=0), y)
    g.output(x.promote(0).reshape(dim=1, chunk=2), "pairs")
    g.output(gate.reshape(chunk=4, pad=None), "gates")
    rng = np.random.default_rng(4)
    inputs = {
        "x": rng.integers(-128, 128, (ROWS, 1, 8)).astype(np.int8),
        "gate": np.ones((ROWS, 1), bool),
        "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
    }
    return Program(g, inputs)


def written_case(folder: Path, experiment: Experiment) -> None:
    """What `wrapped_axi` reads."""
    arrays = of_streams(experiment)
    arrays["w"] = np.ascontiguousarray(experiment.inputs["w"]).view(np.uint8).ravel()
    arrays["y/expected"] = experiment.reference.images["y"].view(np.uint8)
    np.savez(folder / "case.npz", **arrays)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize(("wrap", "tests"), [("axi", 2), ("wishbone", 4)])
def test_every_interface(wrap, tests, simulator, tmp_path):
    whole = program()
    experiment = Experiment(whole.graph, whole.inputs)
    files = write(tmp_path, whole, experiment.design, wraps=[wrap]).files
    assert (files[f"{wrap} wrapper"], files["map"]) == (f"wrapped_{wrap}.v", "wrapped_map.json")
    written_case(tmp_path, experiment)
    sources = ["wrapped.vlt", "wrapped.v", f"wrapped_{wrap}.v"]
    bench = HERE / f"wrapped_{wrap}.py"
    said = simulated(tmp_path, f"wrapped_{wrap}", sources, bench, simulator)
    assert f"PASS={tests} FAIL=0" in said
