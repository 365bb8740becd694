"""Every shipped program can be timed, and moves the bytes that the symbolic metrics say."""

from __future__ import annotations

from typing import Any

import pytest

import stepgen as sg
from stepgen.program import program, values
from stepgen.program.tiles import simulate
from stepgen.timing.tiles import machines

SETTINGS: dict[str, dict[str, str]] = {
    "swiglu": {"data": "false"},
    "moe_swiglu": {"data": "false", "tiling": "static", "tile": "4"},
    "attention": {"data": "false"},
    "decoder": {"data": "false", "batch": "4"},
    "gnn": {"data": "false"},
    "alignment": {},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_traffic_is_the_symbolic_traffic(name: str) -> None:
    loaded = program.load(name, SETTINGS[name], draw=False)
    run = simulate(loaded.graph, loaded.inputs, machines.SDA)
    metrics = sg.metrics(loaded.graph, machines.SDA.policy.name)
    dims = values.dims(loaded, metrics.symbols, run=False)
    assert run.traffic == metrics.evaluate(dims).traffic


@pytest.mark.parametrize(
    ("name", "without"), [("gnn", "edges"), ("alignment", "letters")], ids=["gnn", "alignment"]
)
def test_addresses_in_memory_must_be_given(name: str, without: str) -> None:
    loaded = program.load(name, SETTINGS[name], draw=False)
    inputs: dict[str, Any] = {n: v for n, v in loaded.inputs.items() if n != without}
    with pytest.raises(sg.StepError, match=f"the tensor {without} of addresses was not given"):
        simulate(loaded.graph, inputs, machines.SDA)
