"""The timing on tiles moves the tokens of the reference, on drawn programs of all operators."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from programs import example
from seeds import some_slow
from tile_beats import Recorded, expected, without_contents
from tile_drawing import TileProgram, runs

import stepgen as sg
from stepgen.compile import transforms
from stepgen.fuzz.generators import loops
from stepgen.fuzz.generators.plain import draw, steps_of
from stepgen.ir import registry
from stepgen.ir.dtypes import FLAG, Selector, address
from stepgen.ir.function import function_types
from stepgen.ir.graph import Graph
from stepgen.program.tiles import simulate
from stepgen.semantics import executor
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.tiles import known
from stepgen.timing.tiles.actor import NOW
from stepgen.timing.tiles.dram import DDR4
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED, Machine

PROGRAMS = 300
MACHINES = (SDA, SDA_PUBLISHED, replace(SDA, name="ddr4", memory=DDR4))
AMPLE = 4096
"""A FIFO depth with which every drawn program ends."""


@cache
def drawn(seed: int) -> tuple[TileProgram, list[str]]:
    with np.errstate(all="ignore"):
        program, steps, _ = draw(seed, 4, TileProgram, runs)
    return program, steps


def machine_of(seed: int) -> Machine:
    """A machine with FIFOs of drawn depth."""
    rng = np.random.default_rng(seed)
    depth = int(rng.choice([1, 2, 3, 9, 70]))
    return replace(MACHINES[int(rng.integers(len(MACHINES)))], fifo_depth=depth)


def recorded(graph: Graph, inputs: dict[str, Any], machine: Machine) -> Recorded:
    """A run, with FIFOs that are deep enough."""
    try:
        return Recorded(graph, inputs, machine)
    except Deadlock:
        return Recorded(graph, inputs, replace(machine, fifo_depth=AMPLE))


@pytest.mark.parametrize("seed", some_slow(range(PROGRAMS), 100))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_stream_carries_what_the_reference_says(seed: int) -> None:
    program, _ = drawn(seed)
    conform(program.graph, program.inputs, machine_of(seed))


def conform(graph: Graph, inputs: dict[str, Any], machine: Machine) -> None:
    """Compare every stream with the reference, and check that all memory is released."""
    run = recorded(graph, inputs, machine)
    assert run.M[NOW] == 0, "bytes are held on chip when all is over"
    reference = executor.run(graph, inputs, choices=by_arrival(graph, run.choices))
    for stream in (s for node in graph.nodes for s in node.outputs):
        got, wanted = run.beats(stream), expected(reference.streams[stream.name], stream.dtype)
        flags = isinstance(stream.dtype, Selector) or stream.dtype == FLAG
        if (flags or getattr(stream.dtype, "element", None) == address) and known.decided_by_data(
            stream
        ) is not None:
            got, wanted = without_contents(got), without_contents(wanted)
        assert got == wanted, f"{stream.name} of {stream.node.op}, {stream}"


def by_arrival(graph: Graph, choices: dict[str, list[int]]) -> dict[str, list[int]]:
    """The inputs that every merge in order of arrival took; none where no chunk came."""
    merges = [
        n.name
        for n in graph.nodes
        if n.op == "eager_merge" or (n.op == "reassemble" and n.attrs["order"] == "arrival")
    ]
    return {name: choices.get(name, []) for name in merges}


def test_an_extent_of_1_is_repeated_no_times() -> None:
    """A tile without rows joined with one row has none either."""
    g = Graph("repeated")
    x, row = g.input("x", sg.f32["N", 4], (2,)), g.input("row", sg.f32[1, 4], (2,))
    g.output(x.map(sg.fn.add(), row), "left")
    g.output(row.map(sg.fn.sub(), x), "right")
    inputs = {"x": np.zeros((2, 0, 4), np.float32), "row": np.zeros((2, 1, 4), np.float32)}
    conform(g, inputs, SDA)
    assert simulate(g, inputs, SDA).flops_useful == 0


@pytest.mark.parametrize("seed", range(40))
def test_loops_run_until_they_are_empty(seed: int) -> None:
    """At any depth that the loop can do with; around it FIFOs are shallow or hold everything."""
    body = (lambda x: x.map(sg.fn.square())) if seed % 2 else None
    graph, inputs = loops.loop(loops.drawn(seed), body, sg.f32)
    conform(graph, inputs, machine_of(seed))


@pytest.mark.parametrize("depth", [1, 2, 8, 70])
@pytest.mark.parametrize("seed", range(6))
def test_loads_go_on_for_chunks_that_are_dropped(seed: int, depth: int) -> None:
    """The selectors end long before the last tiles, which are discarded."""
    rng = np.random.default_rng(seed)
    count, wanted = int(rng.integers(1, 12)), int(rng.integers(0, 4))
    g = Graph("dropped")
    tensor = g.tensor("t", (4 * count, 8), sg.f32)
    x = sg.linear_offchip_load(tensor, tile=(4, 8), shape=(count,), stride=(1,))
    sel = g.input("sel", sg.Selector(2), (count,))
    parts = sg.partition(x, sel, rank=0)
    g.output(sg.reassemble(parts, sel, rank=0), "y")
    chosen = rng.random((count, 2)) < 0.5
    chosen[wanted:] = False
    run = simulate(g, {"sel": chosen}, replace(MACHINES[seed % 3], fifo_depth=depth))
    assert run.traffic == 4 * 8 * count * 4


WAYS = {"coarse": {}, "interleaved": {}, "dynamic": {}, "dynamic, ahead": {"in_flight": 2}}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_requests_in_parallel(how: str, seed: int) -> None:
    """Regions on a feedback loop, which get what they do next in the order they become free."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 30, int(rng.integers(1, 9)))
    graph, inputs = example("attention").attention(
        lengths=lengths, rows=2, width=8, tile=4, softmax=("safe", "published")[seed % 2]
    )
    new = transforms.parallelize(graph, regions=3, how=how.split(",")[0], **WAYS[how])
    machine = replace(MACHINES[seed], fifo_depth=int(rng.integers(2, 5)))
    conform(new.graph, new.inputs(inputs), machine)


@pytest.mark.parametrize("seed", range(3))
def test_experts_in_fewer_regions(seed: int) -> None:
    sizes = {"experts": 4, "top": 2, "width": 8, "inner": 16, "columns": 8, "tokens": 7 * seed + 1}
    graph, inputs = example("moe_swiglu").moe_swiglu(**sizes, seed=seed)
    new = transforms.time_multiplex(transforms.static_tiling(graph, tile=3), regions=2)
    for program in (new, transforms.insert_forks(new)):
        conform(program.graph, program.inputs(inputs), MACHINES[seed])


@pytest.mark.parametrize("seed", range(0, PROGRAMS, 12))
def test_a_run_repeats_in_everything(seed: int) -> None:
    program, _ = drawn(seed)
    machine = replace(machine_of(seed), fifo_depth=AMPLE)
    first, second = (simulate(program.graph, program.inputs, machine) for _ in range(2))
    for name in first.trace.__dataclass_fields__:
        assert np.array_equal(getattr(first.trace, name), getattr(second.trace, name))
    assert first.__dict__ | {"trace": 0} == second.__dict__ | {"trace": 0}


def test_every_step_is_drawn() -> None:
    counts = Counter(step for seed in range(PROGRAMS) for step in drawn(seed)[1])
    assert not set(steps_of(TileProgram)) - counts.keys()


def test_every_operator_and_function_is_drawn() -> None:
    nodes = [node for seed in range(PROGRAMS) for node in drawn(seed)[0].graph.nodes]
    assert {n.op for n in nodes} == set(registry.modules("stepgen.ops"))
    used = {n.attrs["fn"].name for n in nodes if "fn" in n.attrs}
    assert used == set(function_types())
