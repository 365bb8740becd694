"""The MoE layer from program to RTL: values, cycles, memory and counters, on drawn inputs."""

import numpy as np
import pytest
from programs import example
from seeds import slow

import stepgen as sg
from stepgen.compile.cost import on_chip_bits
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.hw.accelerator import Accelerator
from stepgen.hw.design.table import Bus
from stepgen.hw.inventory import allocated_bits
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.timing.deadlock import Deadlock

TOKENS, EXPERTS, TILE = 9, 3, 2
SIZE = {"tokens": TOKENS, "experts": EXPERTS, "width": 8, "hidden": 16, "columns": 8, "tile": TILE}
BUS = Bus(data_bits=32, burst=4, outstanding=3)
# Tokens of expert 0: none, one, one less than a tile, a tile, one more, and all of them.
COUNTS = (0, 1, TILE - 1, TILE, TILE + 1, TOKENS)


def routing(rng: np.random.Generator, count: int) -> np.ndarray:
    """A routing of each token to one expert, `count` of them to expert 0."""
    chosen = rng.integers(1, EXPERTS, TOKENS)
    chosen[rng.permutation(TOKENS)[:count]] = 0
    return chosen[:, None]


def experiments(tiling: str, results: str = "rows") -> list[Experiment]:
    """One per count, each with another memory and other stalls."""
    rng = np.random.default_rng(5)
    made = []
    for seed, count in enumerate(COUNTS):
        program = example("moe").moe(
            **SIZE,
            top=1,
            tiling=tiling,
            results=results,
            routing=routing(rng, count),
            seed=seed,
        )
        timing = MemoryTiming(*(int(rng.integers(low, 20)) for low in (1, 1, 1, 1, 1, 1)))
        share = float(rng.choice([0, 0.2, 0.6]))
        stalls = Stalls(seed, dict.fromkeys(("route", *MEMORY_CHANNELS), share))
        early = ("route",) if rng.random() < 0.5 else ()
        aborts = tuple(int(cycle) for cycle in rng.integers(0, 700, 2))
        made.append(
            Experiment(*program, bus=BUS, memory=timing, stalls=stalls, early=early, aborts=aborts)
        )
    return made


def plain(inputs: dict, hidden: int) -> np.ndarray:
    """The layer in numpy, without streams."""
    rows = [
        inputs["x"][token].astype(int) @ inputs[f"w{expert}"].astype(int)
        for token, expert in zip(*np.nonzero(inputs["route"]), strict=True)
    ]
    rows = np.clip(np.rint(np.array(rows).reshape(-1, hidden) / 2**7), -128, 127)
    return rows.astype(np.int8)


def in_rows(y: np.ndarray) -> np.ndarray:
    """Results that left by columns, a row for each token."""
    blocks = y.reshape(-1, TOKENS, y.shape[1])
    return np.concatenate(list(blocks), axis=1)


@pytest.mark.parametrize(
    ("tiling", "results", "driver"),
    [
        ("dynamic", "rows", "cpp"),
        ("dynamic", "columns", "cpp"),
        slow(("dynamic", "rows", "cocotb")),
        slow(("static", "rows", "cpp")),
    ],
)
def test_reference_model_and_rtl_agree(tiling, results, driver, tmp_path):
    cases = experiments(tiling, results)
    for experiment in cases:
        expected, y = plain(experiment.inputs, SIZE["hidden"]), experiment.reference.tensors["y"]
        y = in_rows(y) if results == "columns" else y
        assert np.array_equal(y[: len(expected)], expected)
    for verdict in simulate(cases, tmp_path, driver=driver):
        assert verdict.good, verdict.outcome.faults
        assert verdict.compared["cycles"] > 500
        assert verdict.compared["memory"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "bits"), [(8, 128), slow((16, 32))])
def test_wider_matrix_units(lanes, bits, tmp_path):
    """A bus word wider than a beat of int8, and one that is narrower."""
    program = example("moe").moe(tokens=5, experts=2, top=1, width=16, hidden=32, columns=16)
    experiment = Experiment(*program, lanes=lanes, bus=Bus(data_bits=bits, burst=4))
    verdict = experiment.test(tmp_path, driver="cpp")
    assert verdict.good, verdict.outcome.faults


def test_an_independent_memory_model_accepts_the_memory_port(tmp_path):
    (verdict,) = simulate(experiments("dynamic")[-1:], tmp_path, driver="judge")
    assert verdict.good, verdict.outcome.faults


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_traffic_is_what_the_symbols_say(tiling):
    for experiment in experiments(tiling):
        counts = sg.selector_counts(experiment.graph, "route", experiment.inputs["route"])
        metrics = sg.metrics(experiment.graph, "hardware", experiment.design)
        assert metrics.evaluate(counts).traffic == sum(experiment.traffic)


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_memories_are_what_the_table_says(tiling):
    design = experiments(tiling)[0].design
    assert allocated_bits(Accelerator(design)) == on_chip_bits(design)


def test_dynamic_tiles_never_load_more():
    for static, dynamic in zip(experiments("static"), experiments("dynamic"), strict=True):
        assert dynamic.traffic[0] <= static.traffic[0]


def test_a_deadlock_names_the_depth_that_frees_it():
    program = example("moe").moe(**SIZE, top=2, seed=1)
    channel = "route_to_reassemble_0"
    stuck = Experiment(*program, bus=BUS, depths={channel: 2})
    with pytest.raises(Deadlock, match="deadlocks in cycle") as caught:
        _ = stuck.prediction
    assert [w.channel for w in caught.value.waiting if w.full].count(channel) == 1
    depth = caught.value.remedy[channel]
    assert f"a depth of {depth} for {channel} frees it" in str(caught.value)
    assert Experiment(*program, bus=BUS, depths={channel: depth}).prediction.cycles > 0
    with pytest.raises(Deadlock):
        _ = Experiment(*program, bus=BUS, depths={channel: depth - 1}).prediction


@pytest.mark.slow
def test_a_gate_between_two_matrix_products(tmp_path):
    """A matrix unit compares the done beat of a merge with that of the weights."""
    g = sg.Graph("gate")
    x = g.input("x", sg.int8[1, 8], (5,))
    first = g.input("w0", sg.int8[8, 8], (5,))
    second = g.tensor("w1", (8, 8), sg.int8)
    sel = g.input("sel", sg.Selector(2), (5,))
    parts = sg.partition(x.map(sg.fn.matmul(), first), sel.fifo(30), rank=0)
    scaled = [p.map(sg.fn.requantize(shift=k)).fifo(30) for k, p in enumerate(parts, 5)]
    merged = sg.reassemble(scaled, sel.fifo(30), rank=0)
    weights = sg.linear_offchip_load(second, tile=(8, 8), shape=(1,), stride=(1,), ref=merged)
    g.output(merged.fifo(30).map(sg.fn.matmul(), weights.flatten(0, 1)), "y")
    rng = np.random.default_rng(0)
    inputs = {
        "x": rng.integers(-128, 128, (5, 1, 8)).astype(np.int8),
        "w0": rng.integers(-128, 128, (5, 8, 8)).astype(np.int8),
        "w1": rng.integers(-128, 128, (8, 8)).astype(np.int8),
        "sel": np.eye(2, dtype=bool)[rng.integers(2, size=5)],
    }
    verdict = Experiment(g, inputs).test(tmp_path, driver="cpp")
    assert verdict.good, verdict.outcome.faults


def test_designs_must_be_the_same(tmp_path):
    different = [experiments("static")[0], experiments("dynamic")[0]]
    with pytest.raises(sg.StepError, match="different designs"):
        simulate(different, tmp_path)
