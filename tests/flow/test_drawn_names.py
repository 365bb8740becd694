"""Every identifier can name graphs, ports and operators, in all commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.flow.elaborate import interface
from stepgen.flow.experiment import Experiment, simulate
from stepgen.ir.stalls import Stalls

NAMES = (
    *("clk", "rst", "input", "module", "logic", "mem", "start", "done", "full", "design", "reset"),
    *(
        "x",
        "x_valid",
        "x_ready",
        "_x",
        "x_",
        "a__b",
        "csr_x",
        "judge",
        "dut",
        "memory",
        "signature",
    ),
    *("fifo_x", "n0clk", "int", "class", "stepgen_bench", "recorder", "axi_memory", "L" * 60),
)


@pytest.mark.parametrize("seed", range(2))
def test_drawn_names(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    graph, *names = (str(name) for name in rng.permutation(NAMES))
    g = sg.Graph(graph)
    inputs = {}
    for number in range(0, 12, 3):
        entering, operator, leaving = names[number : number + 3]
        x = g.input(entering, sg.int8[1, 4], (3,))
        g.output(sg.promote(x, name=operator), leaving)
        inputs[entering] = rng.integers(-128, 128, (3, 1, 4)).astype(np.int8)
    experiment = Experiment(g, inputs, stalls=Stalls(seed, dict.fromkeys(inputs, 0.3)))
    assert {p.name for p in interface(experiment.design).ports} >= set(inputs)
    for driver in ("cpp", "cocotb"):
        (verdict,) = simulate([experiment], tmp_path / driver, driver=driver)
        assert verdict.good, verdict.outcome.faults
        assert verdict.outcome.outputs.keys() == {n.name for n in g.nodes if n.op == "output"}
