"""Every identifier can name graphs, ports and operators, in all commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import some_slow

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.emit.interface import interface
from stepgen.hw.design.table import Design
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

SLOTS = ("x", "sel", "route", "load", "up", "save", "pad", "cut", "y")
"""Names in `with_memory` that users choose."""


@pytest.mark.slow
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


def with_memory(slots: Mapping[str, str]) -> sg.Graph:
    """A program with all kinds of channels that the compiler makes, its names as given."""
    named = {slot: slot for slot in SLOTS} | slots
    g = sg.Graph("named")
    x = g.input(named["x"], sg.int8[4, 8], (3,))
    a, b = sg.partition(x, g.input(named["sel"], sg.Selector(2), (3,)), rank=0, name=named["route"])
    w, z = g.tensor("w", (8, 8), sg.int8), g.tensor("z", (12, 8), sg.int8)
    weights = sg.linear_offchip_load(
        w, tile=(8, 8), shape=(1,), stride=(1,), ref=a, name=named["load"]
    )
    product = a.promote(0, name=named["up"]).map(sg.fn.matmul(), weights)
    sg.linear_offchip_store(
        product.map(sg.fn.requantize(shift=3)).flatten(0, 1), z, name=named["save"]
    )
    rows = b.reshape(chunk=2, pad=0, name=named["pad"])[0].accum(sg.fn.retile_row(), rank=1)
    g.output(rows.flat_map(sg.fn.retile_streamify("row"), rank=0, name=named["cut"]), named["y"])
    return g


def nameless(design: Design) -> tuple[list[Any], list[Any]]:
    """A table with numbers for names."""
    number = {c.name: n for n, c in enumerate(design.channels)}
    units = [
        (
            u.params,
            *({port: number[c] for port, c in ends.items()} for ends in (u.inputs, u.outputs)),
        )
        for u in design.units
    ]
    return units, [replace(c, name="") for c in design.channels]


def test_names_of_users_never_collide_with_generated_ones() -> None:
    plain = lower(with_memory({}))
    made = {u.name for u in plain.units} | {c.name for c in plain.channels}
    for slot in SLOTS:
        for name in sorted(made - set(SLOTS) - {n.name for n in with_memory({}).nodes}):
            design = lower(with_memory({slot: name}))
            assert nameless(design) == nameless(plain), (slot, name)
            own = {u.name for u in design.units if u.origin == name}
            assert name in own | design.fused.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", some_slow(range(2), 1))
def test_drawn_names_beside_memory(seed: int, tmp_path: Path) -> None:
    """Operators and ports bear names that the compiler makes for others."""
    rng = np.random.default_rng(seed)
    made = ["mem", "memory", "mem_r", "mem_w", "mem_ar", "a_req", "a_data", "a_1", "cut_promote"]
    slots = dict(zip(SLOTS, map(str, rng.permutation([*made, "a", "b"])), strict=False))
    g = with_memory(slots)
    inputs = {
        slots["x"]: rng.integers(-128, 128, (3, 4, 8)).astype(np.int8),
        slots["sel"]: rng.random((3, 2)) < 0.5,
        "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
        "z": np.zeros((12, 8), np.int8),
    }
    experiment = Experiment(g, inputs, stalls=Stalls(seed, dict.fromkeys(slots.values(), 0.3)))
    verdict = experiment.test(tmp_path, driver="cpp")
    assert verdict.good, verdict.outcome.faults


def test_a_stream_called_like_a_channel_of_the_bus_is_no_traffic() -> None:
    g = sg.Graph("named")
    g.output(sg.promote(g.input("mem_r", sg.int8[1, 4], (3,))), "mem_w")
    experiment = Experiment(g, {"mem_r": np.zeros((3, 1, 4), np.int8)})
    assert experiment.traffic == (0, 0)
