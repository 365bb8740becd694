from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from same import ROUTINGS, check_same, draw_routing, expert, small_moe
from seeds import one_seed_each

import stepgen as sg
from examples.moe_swiglu import moe_swiglu
from stepgen.compile.transforms import Transformed, dynamic_tiling, static_tiling, time_multiplex
from stepgen.ir.metrics import metrics
from stepgen.semantics.executor import run

CHOSEN = {**ROUTINGS, **{f"drawn {seed}": draw_routing(seed) for seed in range(3)}}


def arrivals(new: Transformed, inputs: dict, seed: int) -> dict[str, Sequence[int]]:
    """A drawn order in which the merges of a program may see their inputs."""
    rng = np.random.default_rng(seed)
    streams = run(new.graph, new.inputs(inputs), lanes=2)
    return {
        node.name: [
            int(i)
            for i in rng.permutation([int(np.argmax(s)) for s in streams.nested(f"{node.name}.1")])
        ]
        for node in new.graph.nodes
        if node.op == "eager_merge"
    }


@pytest.mark.parametrize(
    ("regions", "tiling", "routing"), one_seed_each((1, 2, 4), ("static", "dynamic"), CHOSEN)
)
def test_any_order_of_arrival_means_the_same(routing, tiling, regions):
    old, inputs = small_moe(CHOSEN[routing], tiling)
    new = time_multiplex(old, regions=regions)
    assert [n.op for n in new.graph.nodes].count("eager_merge") == regions
    check_same(old, new, inputs)
    for seed in range(3):
        check_same(old, new, inputs, arrivals(new, inputs, seed))


@pytest.mark.parametrize("routing", CHOSEN)
def test_tiling_before_and_after(routing):
    old, inputs = small_moe(CHOSEN[routing], "dynamic")
    check_same(old, time_multiplex(static_tiling(old, tile=2), regions=2), inputs)
    shared = time_multiplex(old, regions=2)
    check_same(old, static_tiling(shared, tile=2), inputs)
    check_same(old, dynamic_tiling(static_tiling(shared, tile=2)), inputs)


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_swiglu_experts_share_regions_at_the_same_cost(tiling):
    old, inputs = moe_swiglu(None, 4, 2, 4, 8, tokens=6, tiling=tiling, tile=2, columns=4)
    new = time_multiplex(old, regions=2)
    check_same(old, new, inputs)
    before, after = (
        metrics(g).evaluate(sg.selector_counts(g, "route", inputs["route"]))
        for g in (old, new.graph)
    )
    assert (before.traffic, before.flops) == (after.traffic, after.flops)
    assert after.memory < before.memory


def test_a_region_never_waits_for_rows_that_come_later():
    """Tiles of an expert are full before that of another one, whose row comes first."""
    old, inputs = sg.example("moe")(
        tokens=13, experts=4, top=2, width=8, hidden=16, columns=8, tiling="static",
        routing=np.array([[0, 2], *[[0, 3]] * 12]),
    )  # fmt: skip
    new = time_multiplex(old, regions=2)
    assert sg.time(new.graph, new.inputs(inputs)).cycles > 0


def test_weights_lie_below_one_another():
    old, inputs = small_moe([[0, 1, 2, 3]], "dynamic")
    new = time_multiplex(old, regions=2)
    assert sorted(new.graph.tensors) == ["w0_to_w1", "w2_to_w3", "x", "y"]
    given = new.inputs(inputs)
    assert (given["w2_to_w3"] == np.vstack([inputs["w2"], inputs["w3"]])).all()
    assert new.inputs({"route": inputs["route"]}).keys() == {"route"}


def two(**settings) -> sg.Graph:
    g = sg.Graph("two")
    x = g.input("x", sg.int8[1, 4], (5,))
    route = g.input("route", sg.Selector(2), (5,))
    first, second = sg.partition(x, route, rank=0)
    results = [expert(g, first, 0), expert(g, second, 1, **settings)]
    g.output(sg.reassemble(results, route, rank=0), "y")
    return g


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shift": 3}, r"map_\d at .* differ in parameters, fn=offset\(c=1\) against fn=off.*c=3"),
        ({"steps": 1}, "are different operators, map against accum"),
    ],
)
def test_branches_must_be_alike(settings, message):
    with pytest.raises(sg.StepError, match=message):
        time_multiplex(two(**settings), regions=1)


@pytest.mark.parametrize(
    ("regions", "message"),
    [(0, "at least 1 region"), (3, "can't divide 2 branches evenly among 3 regions")],
)
def test_regions_must_be_filled(regions, message):
    with pytest.raises(sg.StepError, match=message):
        time_multiplex(two(), regions=regions)


def test_what_is_named_must_be_a_partition():
    message = r"needs a partition, but reassemble_0 is a reassemble$"
    with pytest.raises(sg.StepError, match=message):
        time_multiplex(two(), regions=1, partition="reassemble_0")


def test_branches_take_turns_once():
    new = time_multiplex(two(), regions=1)
    with pytest.raises(sg.StepError, match=r"partition_0 takes turns already .* in region0_merge"):
        time_multiplex(new, regions=1)


def test_there_must_be_branches():
    g = sg.Graph("none")
    g.output(g.input("x", sg.int8[1, 4], (5,)), "y")
    with pytest.raises(sg.StepError, match="finds no branches to share in none"):
        time_multiplex(g, regions=1)
