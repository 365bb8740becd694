from __future__ import annotations

import numpy as np
import pytest
from same import ROUTINGS, check_same, small_moe

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.compile.transforms import insert_forks
from stepgen.compile.transforms.rewrite import Rewrite
from stepgen.cosim.experiment import Experiment
from stepgen.fuzz.generators.plain import draw
from stepgen.hw.units.fork.params import Fork
from stepgen.ir.metrics import metrics


def assert_single_consumers(graph: sg.Graph) -> None:
    for node in graph.nodes:
        for stream in node.outputs:
            assert len(graph.consumers(stream)) <= 1, stream.name


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs(seed):
    program, _, _ = draw(seed, size=3)
    rewrite = Rewrite(program.graph)
    for node in rewrite.nodes():
        rewrite.copy(node)
    assert rewrite.new == program.graph
    new = insert_forks(program.graph)
    assert_single_consumers(new.graph)
    check_same(program.graph, new, program.inputs)


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_moe_costs_and_takes_as_much_as_before(tiling, routing):
    old, inputs = small_moe(ROUTINGS[routing], tiling)
    new = insert_forks(old)
    assert_single_consumers(new.graph)
    check_same(old, new, inputs)
    for policy in ("paper", "published"):
        mine, its = metrics(new.graph, policy), metrics(old, policy)
        assert (mine.traffic, mine.memory, mine.flops) == (its.traffic, its.memory, its.flops)


def test_a_fork_becomes_the_unit_that_a_broadcast_gets_anyway():
    old, _ = small_moe(ROUTINGS["uneven"], "static")
    new = insert_forks(old)
    before, after = lower(old), lower(new.graph)
    assert len([*before.of_kind(Fork)]) == len([*after.of_kind(Fork)]) > 4


def test_depths_move_to_the_copies():
    g = sg.Graph("depths")
    x = g.input("x", sg.int8[1, 2], (3,))
    g.output(x.fifo(7), "a")
    g.output(x, "b")
    new = insert_forks(g).graph
    assert [s.depth for node in new.nodes for s in node.inputs] == [None, 7, None]
    assert new.node("fork_0").where == g.node("x").where


def test_a_feedback_is_one_use():
    g = sg.Graph("cycle")
    x = g.input("x", sg.int8[1, 1], (3,))
    route = g.feedback(sg.Selector(2, hot=1), (3,), "route")
    for i, part in enumerate([*sg.partition(x, route, rank=0), *sg.partition(x, route, rank=0)]):
        g.output(part, f"y{i}")
    given = g.input("given", sg.Selector(2, hot=1), (1, 3))
    real = given.flatten(0, 1)
    route.connect(real)
    g.output(real, "route_out")
    new = insert_forks(g)
    assert_single_consumers(new.graph)
    assert [n.op for n in new.graph.nodes].count("fork") == 3
    assert [f.where for f in new.graph.feedbacks] == [route.where]
    selectors = np.eye(2, dtype=bool)[[[0, 1, 0]]]
    check_same(g, new, {"x": np.array([1, 2, 3], np.int8), "given": selectors})


def test_cycles_stay_where_the_compiler_forks_by_itself():
    old, inputs = small_moe(ROUTINGS["uneven"], "dynamic")
    new = insert_forks(old)
    before, after = Experiment(old, inputs), Experiment(new.graph, new.inputs(inputs))
    assert before.prediction.cycles == after.prediction.cycles
