from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from same import ROUTINGS, check_same, draw_routing, expert, small_moe
from seeds import some_slow

import stepgen as sg
from examples.attention import attention
from examples.moe_swiglu import moe_swiglu
from stepgen.compile.transforms import (
    dynamic_tiling,
    insert_forks,
    parallelize,
    static_tiling,
    time_multiplex,
)
from stepgen.compile.transforms.rewrite import Rewrite
from stepgen.semantics.inputs import multi_hot


def copied(graph: sg.Graph) -> sg.Graph:
    rewrite = Rewrite(graph)
    for node in rewrite.nodes():
        rewrite.copy(node)
    return rewrite.new


def test_a_copy_is_equal_with_cycles_depths_tensors_and_lines():
    graph = parallelize(attention([3, 5, 1], rows=1, width=4, tile=4)[0], regions=2).graph
    graph.tensor("unused", (3, 3), sg.int8, base=64)
    copy = copied(graph)
    assert copy == graph
    assert [n.where for n in copy.nodes] == [n.where for n in graph.nodes]
    assert copied(insert_forks(graph).graph) == insert_forks(graph).graph


def test_dims_of_attributes_follow():
    """A feedback is declared with a dim that is called otherwise in the new graph."""
    g, _ = small_moe([[0, 1]], "dynamic")
    rewrite = Rewrite(g)
    rewrite.new.symbols.fresh("E", "dynamic")
    for node in rewrite.nodes():
        rewrite.copy(node)
    (old, new) = (graph.node("partition_0").outputs[1].shape[0] for graph in (g, rewrite.new))
    assert (str(old), str(new)) == ("E1", "E2")
    assert rewrite.dim(old) == new
    assert rewrite.dtype(sg.Tile(old, 3, sg.int8)) == sg.Tile(new, 3, sg.int8)


@pytest.mark.parametrize("wanted", ["x", "map_0", "map"])
def test_names_are_new(wanted):
    g = sg.Graph("names")
    x = g.input("x", sg.int8[1, 1], (2,))
    g.output(x.map(sg.fn.add(), x), "map")
    rewrite = Rewrite(g)
    names = [rewrite.name(wanted) for _ in range(3)]
    assert len({*names, "x", "map", "map_0"}) == 6


def decoder(
    lengths: list[int], chosen: list[list[int]], experts: int = 4, seed: int = 0
) -> tuple[sg.Graph, dict[str, Any]]:
    """Ranges of tiles are added up for each token, and the sums go through experts."""
    rng = np.random.default_rng(seed)
    count, room = len(lengths), 6
    g = sg.Graph("decoder")
    span = g.input("span", sg.address[1, 2], (count,))
    route = g.input("route", sg.Selector(experts), (count,))
    table = g.tensor("table", (room, 4), sg.int8)
    rows = span.flat_map(sg.fn.span(), rank=1).random_offchip_load(table, tile=(1, 4))
    summed = rows.accum(sg.fn.add(), rank=1, name="summed")
    parts = sg.partition(summed, route, rank=0)
    results = [expert(g, part, i) for i, part in enumerate(parts)]
    g.output(sg.reassemble(results, route.fifo(max(2, count)), rank=0), "y")
    inputs = {
        "span": [np.array([[rng.integers(0, room - n + 1), n]]) for n in lengths],
        "route": multi_hot(chosen, experts),
        "table": rng.integers(-9, 9, (room, 4)),
    }
    return g, inputs | {f"w{i}": rng.integers(-9, 9, (4, 8)) for i in range(experts)}


@pytest.mark.parametrize("routing", some_slow([*ROUTINGS, 0, 1, 2], 4))
def test_all_transforms_together(routing):
    chosen = ROUTINGS[routing] if routing in ROUTINGS else draw_routing(routing)
    rng = np.random.default_rng(len(chosen))
    old, inputs = decoder([int(n) for n in rng.integers(0, 5, len(chosen))], chosen)
    attend = {"requests": ["span"], "until": ["summed"]}
    for how in ("coarse", "interleaved", "dynamic"):
        new = dynamic_tiling(static_tiling(old, tile=2))
        new = parallelize(time_multiplex(new, regions=2), regions=3, how=how, **attend)
        check_same(old, insert_forks(new), inputs)
        new = time_multiplex(parallelize(old, regions=2, how=how, **attend), regions=1)
        check_same(old, static_tiling(new, tile=3), inputs)


def test_inputs_without_data_go_through_all_transforms():
    old, inputs = moe_swiglu("qwen", tokens=8, tiling="static", data=False)
    new = insert_forks(time_multiplex(dynamic_tiling(old), regions=8))
    new.graph.check()
    assert new.inputs(inputs).keys() == inputs.keys()
