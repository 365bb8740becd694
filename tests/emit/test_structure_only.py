"""Inputs whose data is not used: only the structure of a reference is, so it has no lanes."""

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.driving import DRIVERS
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.emit.interface import interface
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.program import inputs

REFERENCES = {"int8": sg.int8[2, 8], "int32": sg.int32[1, 4], "mask": sg.Selector(3)}


def references() -> sg.Graph:
    """Each type of reference in front of every operator that takes one, flat and nested."""
    g = sg.Graph("references")
    w = g.tensor("w", (4, 8), sg.int8)
    for name, dtype in {**REFERENCES, "flag": sg.FLAG}.items():
        x = g.input(f"x_{name}", sg.int8[1, 4], (3, 1))
        g.output(
            x.expand(g.input(f"each_{name}", dtype, (3, sg.ragged(f"R_{name}")))),
            f"expanded_{name}",
        )
        ref = g.input(f"all_{name}", dtype, (2,))
        load = sg.linear_offchip_load(w, tile=(4, 4), shape=(2,), stride=(1,), ref=ref)
        g.output(load, f"loaded_{name}")
    return g


def value(rng: np.random.Generator, name: str) -> np.ndarray:
    shape = {"int8": (2, 8), "int32": (1, 4), "mask": (3,), "flag": (1, 1)}[name]
    return rng.integers(0, 2, shape) if name in ("mask", "flag") else rng.integers(-9, 9, shape)


@pytest.mark.slow
def test_every_driver_agrees_on_them(tmp_path):
    graph, cases = references(), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        given = {
            f"each_{name}": [
                [value(rng, name) for _ in range(int(rng.integers(0, 3)))] for _ in range(3)
            ]
            for name in (*REFERENCES, "flag")
        }
        found = inputs.complete(graph, given, seed)
        stalls = Stalls(seed, dict.fromkeys([*given, *MEMORY_CHANNELS], 0.3 * seed))
        cases.append(Experiment(graph, found, memory=MemoryTiming(read_latency=5), stalls=stalls))
    ports = {p.name: p for p in interface(cases[0].design).sources}
    assert {p.lanes for name, p in ports.items() if not name.startswith("x_")} == {0}
    for driver in DRIVERS:
        for verdict in simulate(cases, tmp_path / driver, driver=driver):
            assert verdict.good, (driver, verdict.outcome.faults)
            assert verdict.compared["values"] > 60


@pytest.mark.parametrize("dtype", [*REFERENCES.values(), sg.FLAG], ids=str)
def test_a_reference_keeps_its_structure_alone(dtype):
    g = sg.Graph("one")
    x = g.input("x", sg.int8[1, 4], (3, 1))
    g.output(x.expand(g.input("ref", dtype, (3, 2))), "y")
    experiment = Experiment(g, inputs.complete(g, {}))
    rows = experiment.case().sources["ref"]
    assert len(rows) == len(experiment.beats["ref"])
