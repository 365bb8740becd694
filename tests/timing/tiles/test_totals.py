"""Totals of timed runs against the symbolic metrics, on drawn routings and lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs import example
from seeds import others_slow, some_slow
from tile_drawing import TileProgram, runs

import stepgen as sg
from stepgen.fuzz.generators.plain import draw
from stepgen.ir.policy import PAPER, PUBLISHED
from stepgen.program.tiles import simulate
from stepgen.semantics import executor
from stepgen.semantics.shapes import measure
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED, Machine
from stepgen.timing.tiles.report import Run

SIZES = {"experts": 4, "top": 2, "width": 16, "inner": 32, "columns": 8}
MACHINES = {
    "paper": SDA,
    "published": replace(SDA, policy=PUBLISHED),
    "published machine": SDA_PUBLISHED,
    "published machine, paper": replace(SDA_PUBLISHED, policy=PAPER),
}
"""How bytes are counted is no matter of how long they take."""

machines = pytest.mark.parametrize(
    "machine",
    others_slow(MACHINES.values(), (MACHINES["published"], MACHINES["published machine, paper"])),
)


def routing(seed: int, experts: int = 4, top: int = 2) -> Any:
    """Drawn experts of drawn tokens, one by one more skewed."""
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(1, 14))
    weights = rng.dirichlet(np.full(experts, 0.3 + seed % 3))
    noise = rng.gumbel(size=(tokens, experts)) + np.log(weights + 1e-12)
    return np.argsort(-noise, axis=1)[:, :top]


ROUTINGS = {
    "one token": np.array([[1, 3]]),
    "all to two experts": np.array([[0, 2]] * 9),
    "one after the other": np.array([[i % 4, (i + 1) % 4] for i in range(8)]),
    **{f"drawn {seed}": routing(seed) for seed in range(5)},
}

routings = pytest.mark.parametrize("chosen", ROUTINGS.values(), ids=ROUTINGS)


def moe(chosen: Any, tiling: str, tile: int = 3, **more: Any) -> tuple[sg.Graph, dict[str, Any]]:
    sizes = {**SIZES, "top": chosen.shape[1]}
    graph, inputs = example("moe_swiglu").moe_swiglu(
        **sizes, tokens=len(chosen), tiling=tiling, tile=tile, routing=chosen, data=False, **more
    )
    return graph, inputs


def check(run: Run, graph: sg.Graph, values: Any, machine: Machine) -> None:
    """All that the symbolic metrics count is what the run used."""
    symbolic = sg.metrics(graph, machine.policy.name).evaluate(values)
    assert run.traffic == symbolic.traffic
    assert run.memory_allocated == symbolic.memory
    # The published count of SiLU's operations is one of the metrics, not of the machine.
    flops = sg.metrics(graph, "paper").evaluate(values).flops
    assert run.flops_useful + run.flops_padding == flops
    assert run.memory_peak > 0
    assert 0 < run.compute_utilization <= 1
    assert 0 < run.bandwidth_utilization <= 1


@machines
@routings
@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_experts(chosen: Any, tiling: str, machine: Machine) -> None:
    graph, inputs = moe(chosen, tiling)
    run = simulate(graph, inputs, machine)
    check(run, graph, sg.selector_counts(graph, "route", inputs["route"]), machine)


@routings
def test_only_static_tiles_are_padded(chosen: Any) -> None:
    dynamic = simulate(*moe(chosen, "dynamic"), SDA)
    assert dynamic.flops_padding == 0
    for tile in (1, 2, 5, 16):
        static = simulate(*moe(chosen, "static", tile), SDA)
        assert static.flops_useful == dynamic.flops_useful
        assert static.traffic >= dynamic.traffic
        rows = np.bincount(chosen.ravel(), minlength=4)
        padded = (-rows % tile).sum()
        # Three matmuls, SiLU, a product and a conversion for each row that is padding.
        width, inner = SIZES["width"], SIZES["inner"]
        assert static.flops_padding == padded * (6 * width * inner + (8 + 1 + 1) * inner)


def test_all_tokens_to_one_expert() -> None:
    chosen = np.zeros((6, 1), int)
    static, dynamic = (simulate(*moe(chosen, tiling), SDA) for tiling in ("static", "dynamic"))
    weights = 3 * SIZES["width"] * SIZES["inner"] * 2
    rows = 6 * SIZES["width"] * (2 + 4) + 6 * 2
    assert (static.traffic, dynamic.traffic) == (2 * weights + rows, weights + rows)
    assert dynamic.operators["gate0"].traffic * 3 == weights
    assert all(dynamic.operators[f"gate{i}"].traffic == 0 for i in (1, 2, 3))


LENGTHS = ([5, 1, 3, 4, 12, 0, 7], [6], [4, 4, 4], [0], [30, 1])


@machines
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("softmax", ["safe", "published"])
def test_attention(softmax: str, lengths: list[int], machine: Machine) -> None:
    graph, inputs = example("attention").attention(
        lengths=lengths, rows=2, width=8, tile=4, softmax=softmax
    )
    run = simulate(graph, inputs, machine)
    values: dict[Any, int] = dict(measure(graph, executor.run(graph, inputs, choices=run.choices)))
    # A buffer has to have room for the longest request.
    values |= {dim.expr: max(lengths) // 4 + 1 for dim, _ in graph.spans.values()}
    check(run, graph, values, machine)
    tiles = sum(n // 4 + 1 for n in lengths)
    reads = run.operators["keys_read"].traffic
    assert reads == tiles * 4 * 8 * 2


@machines
@pytest.mark.parametrize("tiles", [(16, 16), (4, 8), (8, 32)], ids=str)
def test_a_regular_layer(tiles: tuple[int, int], machine: Machine) -> None:
    graph, inputs = example("swiglu").swiglu(16, 8, 32, *tiles, element="f32", data=False)
    run = simulate(graph, inputs, machine)
    check(run, graph, {}, machine)
    assert run.flops_padding == 0
    blocks = 16 // tiles[0]
    assert run.operators["gate"].traffic == blocks * 8 * 32 * 4


@pytest.mark.parametrize("seed", some_slow(range(60), 15))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_drawn_programs(seed: int) -> None:
    """Costs that depend on no ragged dim, whose single value a run does not tell."""
    with np.errstate(all="ignore"):
        program, _, _ = draw(seed, 4, TileProgram, runs)
    graph, inputs = program.graph, program.inputs
    run = simulate(graph, inputs, replace(SDA, fifo_depth=4096))
    values = measure(graph, executor.run(graph, inputs, choices=run.choices))
    metrics = sg.metrics(graph, "paper")
    expected: dict[str, Any] = {
        "traffic": (metrics.traffic, run.traffic),
        "memory": (metrics.memory, run.memory_allocated),
        "flops": (metrics.flops, run.flops_useful + run.flops_padding),
    }
    for what, (expr, used) in expected.items():
        if not expr.free_symbols <= values.keys():
            continue
        wanted = int(expr.subs(values))
        if what == "memory" and any(o.tokens == 0 for o in run.operators.values()):
            # No room is needed for elements that never come.
            assert used <= wanted
        else:
            assert used == wanted, what


def test_what_an_operator_did_adds_up() -> None:
    graph, inputs = moe(ROUTINGS["drawn 0"], "static")
    run = simulate(graph, inputs, SDA)
    for operator in run.operators.values():
        actors = 2 if operator.op.endswith("offchip_load") else 1
        assert operator.busy + operator.starved + operator.full == actors * run.cycles
        assert min(operator.busy, operator.starved, operator.full) >= 0
