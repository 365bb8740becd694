"""Operators with lanes of their own: who follows whom, and the links between them."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.ir.errors import StepError
from stepgen.ir.lanes import lanes_by_node, lanes_from
from stepgen.semantics import executor
from stepgen.semantics.numbers import DTYPES


def layer() -> sg.Graph:
    """Rows times weights from memory, scaled, and their sums."""
    g = sg.Graph("layer")
    x = g.input("x", sg.f32[2, 16], (3,))
    w = g.tensor("w", (16, 16), sg.f32)
    tiles = sg.linear_offchip_load(w, tile=(16, 16), shape=(1,), stride=(1,), ref=x, name="w")
    product = x.map(sg.fn.matmul(), tiles.flatten(0, 1, name="flat"), name="product")
    scaled = product.map(sg.fn.silu(), name="scaled")
    g.output(scaled.map(sg.fn.row_sum(), name="sums"), "y")
    return g


def links(design) -> dict[str, tuple[int, int]]:
    """Lanes before and behind each link."""
    return {u.name: (u.params.take, u.params.give) for u in design.units if u.kind == "link"}


def test_neighbours_that_only_move_or_map_follow():
    found = lanes_by_node(layer(), {"*": 2, "matmul": 8, "sums": 1})
    assert found == {
        **{"x": 8, "w": 8, "flat": 8},
        **{"product": 8, "scaled": 8, "sums": 1, "y": 1},
    }
    assert lanes_by_node(layer(), {"s*": 8, "sums": 4})["scaled"] == 8
    assert set(lanes_by_node(layer(), 4).values()) == {4}


def test_links_stand_where_lanes_differ():
    design = lower(layer(), lanes={"*": 2, "matmul": 8, "sums": 1})
    assert links(design) == {"scaled_link": (8, 1)}
    assert design.lanes == 2
    assert design.channel["flat"].lanes == 8
    assert design.lanes_at("product") == 8
    again = type(design).from_json(design.to_json())
    assert again == design
    assert lower(layer(), lanes=again.lanes_of_operators) == design


def test_sums_have_the_order_of_each_operators_lanes():
    graph, rng = layer(), np.random.default_rng(3)
    inputs = {
        "x": rng.standard_normal((3, 2, 16)).astype(DTYPES["f32"]),
        "w": rng.standard_normal((16, 16)).astype(DTYPES["f32"]),
    }
    values = [
        np.array(executor.run(graph, inputs, lanes=lanes).nested("y")).tobytes()
        for lanes in (1, 8, {"*": 1, "matmul": 8}, {"*": 8, "matmul": 1})
    ]
    assert values[0] == values[3] != values[1] == values[2]
    run = Experiment(graph, inputs, lanes={"*": 1, "matmul": 8})
    assert np.array(run.reference.nested("y")).tobytes() == values[2]
    finished = Experiment(graph, inputs, built=run.design)
    assert np.array(finished.reference.nested("y")).tobytes() == values[2]


@pytest.mark.parametrize(
    ("lanes", "said"),
    [
        ({"zzz": 8}, "no operator and no function 'zzz' .* have 8 lanes, but [a-z_, ]*matmul"),
        ({"matmull": 8}, "no operator and no function 'matmull' .* have 8 lanes, but matmul"),
        ({"matmul": 3}, "the lanes of matmul must be a power of two up to 32, not 3"),
        ({"*": 64}, "lanes must be a power of two up to 32, not 64"),
    ],
)
def test_mistakes(lanes, said):
    for use in (lower, lambda graph, lanes: executor.run(graph, {}, lanes=lanes)):
        with pytest.raises(StepError, match=said):
            use(layer(), lanes=lanes)


def test_a_memory_has_the_lanes_of_its_readers():
    g = sg.Graph("kept")
    x = g.input("x", sg.int8[1, 8], (2, 3))
    stored = x.bufferize(rank=1, name="stored")
    g.output(stored.streamify(name="read"), "y")
    g.output(stored.streamify(name="again"), "z")
    found = lanes_by_node(g, {"*": 2, "again": 4})
    assert set(found.values()) == {4}
    assert links(lower(g, lanes={"*": 2, "again": 4, "x": 2})) == {"x_link": (2, 4)}
    with pytest.raises(StepError, match="the same lanes, not stored 2 and read 4"):
        lanes_by_node(g, {"stored": 2, "read": 4})


def test_texts():
    for text, lanes in (("8", 8), ("2,matmul=8", {"*": 2, "matmul": 8}), ("a=1", {"a": 1})):
        assert lanes_from(text) == lanes
    for text in ("", "two", "2.5", "a=", "2,3", "a=1,a=2", "-1"):
        with pytest.raises(StepError, match="number"):
            lanes_from(text)
