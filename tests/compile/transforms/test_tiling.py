from __future__ import annotations

import pytest
from same import ROUTINGS, check_same, draw_routing, small_moe
from seeds import one_seed_each

import stepgen as sg
from examples.moe_swiglu import moe_swiglu
from stepgen.compile.transforms import capped_tiling, dynamic_tiling, insert_forks, static_tiling
from stepgen.ir.metrics import metrics
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure


def assert_same_costs(a: sg.Graph, b: sg.Graph) -> None:
    for policy in ("paper", "published"):
        mine, its = metrics(a, policy), metrics(b, policy)
        for what in ("traffic", "memory", "flops"):
            assert getattr(mine, what) == getattr(its, what), (policy, what)


CHOSEN = {**ROUTINGS, **{f"drawn {seed}": draw_routing(seed) for seed in range(4)}}


@pytest.mark.parametrize("tile", [1, 2, 5])
@pytest.mark.parametrize("routing", CHOSEN)
def test_dynamic_tiles_become_static(routing, tile):
    old, inputs = small_moe(CHOSEN[routing], "dynamic")
    new = static_tiling(old, tile=tile)
    assert not [n for n in new.graph.nodes if n.op == "promote" and n.attrs["level"] == 1]
    check_same(old, new, inputs)


@pytest.mark.parametrize("routing", CHOSEN)
def test_static_tiles_become_dynamic(routing):
    old, inputs = small_moe(CHOSEN[routing], "static")
    new = dynamic_tiling(old)
    assert "reshape" not in {n.op for n in new.graph.nodes}
    check_same(old, new, inputs)
    check_same(old, insert_forks(static_tiling(new, tile=2)), inputs)


def test_the_other_form_costs_what_it_costs_when_written_by_hand():
    (static, _), (dynamic, _) = (small_moe([[0, 1]], tiling) for tiling in ("static", "dynamic"))
    assert_same_costs(static_tiling(dynamic, tile=3).graph, static)
    assert_same_costs(dynamic_tiling(static).graph, dynamic)
    static, dynamic = (moe_swiglu(tiling=t, tile=4, data=False)[0] for t in ("static", "dynamic"))
    assert_same_costs(static_tiling(dynamic, tile=4).graph, static)
    assert_same_costs(dynamic_tiling(static).graph, dynamic)


def packed(g: sg.Graph) -> sg.Stream:
    x = g.input("x", sg.int8[1, 4], ("T",))
    return x.promote().accum(sg.fn.retile_row(), rank=1)


def test_rows_that_are_not_taken_apart_stay():
    g = sg.Graph("stays")
    g.output(packed(g), "y")
    with pytest.raises(sg.StepError, match="finds no rows to tile in stays"):
        static_tiling(g, tile=2)
    with pytest.raises(sg.StepError, match="finds no padded tiles in stays"):
        dynamic_tiling(g)


def test_rows_that_are_columns_of_a_product_stay():
    g = sg.Graph("keys")
    keys = packed(g)
    scores = keys.map(sg.fn.matmul(transpose=True), keys)
    g.output(scores.flat_map(sg.fn.retile_streamify("row"), rank=0), "y")
    with pytest.raises(sg.StepError, match="finds no rows"):
        static_tiling(g, tile=2)


def test_padding_that_is_used_otherwise_stays():
    g = sg.Graph("flags")
    x = g.input("x", sg.int8[1, 4], ("T",))
    data, flags = x.reshape(chunk=2)
    rows = data.accum(sg.fn.retile_row(), rank=1)
    g.output(rows.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=flags), "y")
    dynamic_tiling(g)
    g.output(flags, "flags")
    with pytest.raises(sg.StepError, match="finds no padded tiles"):
        dynamic_tiling(g)


@pytest.mark.parametrize(
    ("rows", "tiling", "routing"), one_seed_each((1, 2, 5), ("static", "dynamic"), CHOSEN)
)
def test_tiles_with_a_cap(rows, routing, tiling):
    old, inputs = small_moe(CHOSEN[routing], tiling)
    check_same(old, capped_tiling(old, rows=rows), inputs)


def test_a_cap_costs_what_it_costs_when_written_by_hand():
    (capped, _), (dynamic, _) = (small_moe([[0, 1]], tiling) for tiling in ("capped", "dynamic"))
    assert_same_costs(capped_tiling(dynamic, rows=3).graph, capped)
    assert_same_costs(dynamic_tiling(capped).graph, dynamic)


def test_weights_are_read_once_for_each_tile_of_a_cap():
    dynamic, inputs = small_moe([[0]] * 7 + [[2]] * 3, "dynamic")
    capped = capped_tiling(dynamic, rows=3).graph

    def read(graph):
        result = run(graph, inputs, lanes=2)
        found = metrics(graph)
        return int(found.traffic.subs(measure(graph, result)))

    def flops(graph):
        return int(metrics(graph).flops.subs(measure(graph, run(graph, inputs, lanes=2))))

    weight = 8 * 16
    assert read(capped) - read(dynamic) == 2 * weight
    assert flops(capped) == flops(dynamic)


@pytest.mark.parametrize(
    ("tile", "said"), [(0, "at least 1 row"), (True, "an integer"), (2.0, "an integer")]
)
def test_a_tile_has_rows(tile, said):
    with pytest.raises(sg.StepError, match=said):
        static_tiling(small_moe([[0]], "dynamic")[0], tile=tile)
