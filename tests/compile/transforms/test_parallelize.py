from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from same import check_same
from seeds import one_seed_each

import stepgen as sg
from examples.attention import attention
from examples.gnn import gnn
from stepgen.compile.transforms import Transformed, insert_forks, parallelize
from stepgen.semantics.executor import run
from stepgen.semantics.tokens import encode

fn = sg.fn
WAYS = ("coarse", "interleaved", "dynamic")


def lookups(
    lengths: Sequence[int], how: str = "stored", seed: int = 0
) -> tuple[sg.Graph, dict[str, Any]]:
    """Each request adds up products with a range of tiles; results go where `how` says."""
    rng = np.random.default_rng(seed)
    batch, room = len(lengths), 8
    g = sg.Graph("lookups")
    span = g.input("span", sg.address[1, 2], (batch,))
    query = g.tensor("query", (2 * batch, 4), sg.int8)
    table = g.tensor("table", (4 * room, 4), sg.int8)
    tiles = span.flat_map(fn.span(), rank=1).random_offchip_load(table, tile=(4, 4))
    x = sg.linear_offchip_load(query, tile=(2, 4), shape=(batch,), stride=(1,), name="query")
    total = x.promote(0).expand(tiles).accum(fn.matmul(), tiles, rank=1, init=0, name="total")
    y = g.tensor("y", (2 * batch, 4), sg.int32)
    inputs = {
        "span": [np.array([[rng.integers(0, room - n + 1), n]]) for n in lengths],
        "query": rng.integers(-9, 9, (2 * batch, 4)).astype(np.int8),
        "table": rng.integers(-9, 9, (4 * room, 4)).astype(np.int8),
    }
    if how == "stored":
        place = g.input("place", sg.address[1, 1], (batch,))
        sg.random_offchip_store(place, total, y, tile=(2, 4), name="ack")
        inputs["place"] = rng.permutation(batch).reshape(batch, 1, 1)
    elif how == "rows":
        sg.linear_offchip_store(total, y)
    else:
        g.output(total, "total_out")
        g.output(tiles, "tiles_out")
    return g, inputs


def arrivals(new: Transformed, inputs: dict[str, Any], seed: int) -> dict[str, list[int]]:
    """Orders in which regions may become free: a region can finish only what it was given."""
    g = new.graph
    merge = next((n for n in g.nodes if n.op == "eager_merge"), None)
    if merge is None:
        return {}
    rng = np.random.default_rng(seed)
    given = new.inputs(inputs)
    total, work = len(given["regions_later"]), [int(np.argmax(s)) for s in given["regions_first"]]
    order: list[int] = []
    while work:
        region = int(rng.choice(work))
        work.remove(region)
        order.append(region)
        if len(order) <= total - len(given["regions_first"]):
            work.append(region)
    return {merge.name: order}


LENGTHS = {
    "one": [3],
    "alike": [2] * 6,
    "uneven": [8, 0, 1, 5, 0, 2, 1],
    "nothing": [0, 0, 0],
    "few": [1, 4],
}


@pytest.mark.parametrize(
    ("regions", "how", "results", "lengths"),
    one_seed_each((1, 2, 3, 4), WAYS, ("stored", "rows", "outputs"), LENGTHS),
)
def test_regions_do_together_what_one_does(lengths, results, how, regions):
    old, inputs = lookups(LENGTHS[lengths], results)
    new = parallelize(old, regions=regions, how=how)
    check_same(old, new, inputs)
    for seed in range(2):
        check_same(old, insert_forks(new), inputs, arrivals(new, inputs, seed))


@pytest.mark.parametrize("in_flight", [1, 2, 5])
def test_regions_can_be_given_several_requests_in_advance(in_flight):
    old, inputs = lookups(LENGTHS["uneven"])
    new = parallelize(old, regions=2, in_flight=in_flight)
    is_dynamic = "regions_later" in {n.name for n in new.graph.nodes}
    assert is_dynamic == (2 * in_flight < 7)
    for seed in range(3):
        check_same(old, new, inputs, arrivals(new, inputs, seed) if is_dynamic else None)


def spans_of(new: Transformed, inputs: dict[str, Any]) -> list[list[int]]:
    given = new.inputs(inputs)
    names = [n.name for n in new.graph.nodes if n.op == "source" and n.name.startswith("span")]
    return [[int(s[0, 1]) for s in given[name]] for name in names]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"how": "coarse", "regions": 3}, [[1, 2, 3], [4, 5, 6], [7, 8]]),
        ({"how": "coarse", "regions": 5}, [[1, 2], [3, 4], [5, 6], [7, 8]]),
        ({"how": "coarse", "regions": 2, "per_region": 3}, [[1, 2, 3, 7, 8], [4, 5, 6]]),
        ({"how": "coarse", "regions": 2, "per_region": 16}, [[1, 2, 3, 4, 5, 6, 7, 8]]),
        ({"how": "interleaved", "regions": 3}, [[1, 4, 7], [2, 5, 8], [3, 6]]),
        ({"how": "interleaved", "regions": 20}, [[n] for n in range(1, 9)]),
    ],
)
def test_requests_are_divided_beforehand(settings, expected):
    old, inputs = lookups(range(1, 9), "rows")
    new = parallelize(old, **settings)
    assert spans_of(new, inputs) == expected
    assert not {"partition", "eager_merge"} & {n.op for n in new.graph.nodes}
    check_same(old, new, inputs)
    stream = inputs | {"span": encode(inputs["span"], 0)}
    check_same(old, new, stream)
    assert new.inputs({"span": inputs["span"]}).keys() == {
        n.name for n in new.graph.nodes if n.op == "source"
    }


def test_a_region_gets_a_request_when_it_has_finished_one():
    old, inputs = lookups([1] * 7)
    new = parallelize(old, regions=3)
    order = [2, 2, 1, 2, 0, 1, 2]
    after = run(new.graph, new.inputs(inputs), lanes=2, choices={"regions_done": order})
    given = [int(np.argmax(s)) for s in after.nested("flatten_0.0")]
    assert given == [0, 1, 2, *order[:4]]


@pytest.mark.parametrize("softmax", ["safe", "published"])
@pytest.mark.parametrize("how", WAYS)
def test_attention(softmax, how):
    old, inputs = attention(
        lengths=[3, 0, 17, 6, 1], rows=2, width=4, tile=4, softmax=softmax, element="f32"
    )
    new = parallelize(old, regions=2, how=how)
    check_same(old, new, inputs)
    for seed in range(3):
        check_same(old, new, inputs, arrivals(new, inputs, seed))


def test_requests_that_are_computed_are_routed():
    old, inputs = lookups(LENGTHS["uneven"], "rows")
    for how in WAYS:
        new = parallelize(old, regions=2, how=how, requests=["flat_map_0", "query"])
        assert [n.op for n in new.graph.nodes].count("partition") == 2 + (how == "dynamic")
        check_same(old, new, inputs)


@pytest.mark.parametrize("how", WAYS[:2])
def test_requests_can_be_routed_as_they_come(how):
    old, inputs = lookups(LENGTHS["uneven"], "rows")
    new = parallelize(old, regions=3, how=how, routed=True)
    assert [n.op for n in new.graph.nodes].count("partition") == 2
    assert new.inputs(inputs)["regions"].argmax(axis=1).tolist() == (
        [0, 0, 0, 1, 1, 1, 2] if how == "coarse" else [0, 1, 2, 0, 1, 2, 0]
    )
    check_same(old, new, inputs)


def after_lookups(lengths: Sequence[int]) -> tuple[sg.Graph, dict[str, Any]]:
    """All requests together go on behind what is done for each."""
    g, inputs = lookups(lengths, "rows")
    total = g.node("total").outputs[0]
    largest = total.promote().accum(fn.maximum(), rank=1)
    g.output(largest, "largest")
    return g, inputs


@pytest.mark.parametrize("how", WAYS)
def test_the_program_goes_on_behind(how):
    old, inputs = after_lookups(LENGTHS["uneven"])
    new = parallelize(old, regions=3, how=how, until=["total"])
    assert [n.op for n in new.graph.nodes].count("promote") == 3 + 1
    check_same(old, new, inputs)


@pytest.mark.parametrize("how", WAYS)
def test_a_tensor_that_others_read_too_stays(how):
    old, inputs = gnn(nodes=9, width=4, columns=4, tile=2)
    new = parallelize(old, regions=2, how=how, requests=["ranges", "x"], until=["gathered"])
    assert set(new.graph.tensors) >= {"x"} | ({"x_r0", "x_r1"} if how != "dynamic" else set())
    check_same(old, new, inputs)


def test_what_marks_the_end_can_be_chosen():
    old, inputs = lookups(LENGTHS["uneven"], "outputs")
    tiles = "random_offchip_load_0"
    new = parallelize(old, regions=2, done=tiles)
    (merge,) = (n for n in new.graph.nodes if n.op == "eager_merge")
    assert {s.node.attrs["fn"].name for s in merge.inputs} == {"count"}
    check_same(old, new, inputs)


def mixed(g: sg.Graph) -> sg.Stream:
    x = g.input("x", sg.int8[1, 4], (6,))
    return x.map(fn.add(), g.input("y", sg.int8[1, 4], (6,)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regions": 0}, "regions of at least 1, not 0"),
        (
            {"regions": 2, "how": "coarse", "in_flight": 3},
            "in_flight with how dynamic only, not wi",
        ),
        ({"regions": 2, "how": "interleaved", "per_region": 3}, "has per_region with how coarse"),
        ({"regions": 2, "routed": True}, "has routed with how coarse or interleaved only, not"),
        ({"regions": 2.5}, "regions must be an integer, not 2.5"),
        ({"how": "random"}, "one of coarse, interleaved, dynamic, not 'random'"),
        ({"requests": ["x"]}, r"map_0 at .* and on y.0, which does not come from requests"),
        ({"requests": ["x", "z"]}, r"as many requests, but x.0 is .*; 6. and z.0 is .*; 5"),
        ({"requests": ["n"]}, r"a known number of requests of at least 1, but n.0 is"),
        ({"requests": ["w"]}, "parallelize: mistakes has no operator w$"),
        ({"requests": ["x.3"]}, "source x has no output 3"),
        ({"requests": ["x", "y"], "done": "z"}, "each of the 6 requests .* but z.0 is"),
        ({"requests": ["z"]}, r"put flatten_0.0 back in the order of the 5 requests"),
    ],
)
def test_mistakes(settings, message):
    g = sg.Graph("mistakes")
    g.output(mixed(g), "sum")
    g.output(g.input("z", sg.int8[1, 4], (5, 2)).flatten(0, 1), "flat")
    g.output(g.input("n", sg.int8[1, 4], ("N",)), "n_out")
    with pytest.raises(sg.StepError, match=message):
        parallelize(g, **{"regions": 2, **settings})


def test_rows_of_requests_must_lie_together():
    g = sg.Graph("columns")
    t = g.tensor("t", (4, 8), sg.int8)
    g.output(sg.linear_offchip_load(t, tile=(4, 4), shape=(2,), stride=(1,)), "y")
    with pytest.raises(sg.StepError, match="can't divide tensor t among regions"):
        parallelize(g, regions=2, how="coarse")
    parallelize(g, regions=2)


def test_a_cycle_is_not_copied():
    old, _ = lookups([1] * 7)
    new = parallelize(old, regions=2)
    with pytest.raises(sg.StepError, match="the cycle that feedback regions_freed at test_par"):
        parallelize(new, regions=2, requests=["span", "query", "place"])
