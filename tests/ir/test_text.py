"""Programs as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import example

import stepgen as sg
from stepgen.ir.text import dumps, loads


def _everything() -> sg.Graph:
    """Cycles, all data types, dims of all kinds, functions with parameters."""
    g = sg.Graph("everything")
    rows = sg.dynamic("R", bound=9, positive=True)
    x = g.input("x", sg.Tile(rows, 4, sg.bf16), ("T", sg.ragged("L", bound=3)))
    loop = g.feedback(sg.Selector(2, hot=1), ("T",), "loop")
    parts = sg.partition(x, loop.fifo(9), rank=1)
    data, order = sg.eager_merge([p.map(sg.fn.scale(0.5)) for p in parts], rank=1)
    loop.connect(order)
    g.output(loop.promote(), "who")
    pairs = data.zip(data).map(sg.fn.compare("lt")).map(sg.fn.convert("f32"))
    buffers = pairs.bufferize(rank=1)
    late = g.feedback(buffers.dtype, buffers.shape, "late")
    g.output(late.streamify(count=2), "y")
    late.connect(buffers)
    at = g.input("at", sg.address[1, 1], (5,))
    tile = sg.random_offchip_load(at, g.tensor("t", (8, 4), sg.f32, base=4096), tile=(2, 4))
    g.output(tile.promote(0).accum(sg.fn.maximum(), rank=1, init=-1.5), "z")
    return g


@pytest.mark.parametrize(
    "graph",
    [
        _everything(),
        example("moe").moe(tiling="static")[0],
        example("moe").moe(tiling="dynamic")[0],
        example("swiglu").swiglu(data=False)[0],
        example("moe_swiglu").moe_swiglu(data=False)[0],
        example("attention").attention(data=False)[0],
        example("alignment").alignment()[0],
    ],
    ids=lambda g: g.name,
)
def test_a_graph_comes_back_equal(graph: sg.Graph, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    sg.save(graph, path)
    again = sg.load(path)
    assert again == graph
    assert dumps(again) == dumps(graph)
    assert str(again) == str(graph)
    for policy in ("paper", "published"):
        mine, its = sg.metrics(graph, policy), sg.metrics(again, policy)
        assert mine.nodes == its.nodes


def test_graphs_that_differ_are_not_equal() -> None:
    graph = example("moe").moe(experts=2)[0]
    text = dumps(graph)
    assert loads(text.replace('"shift": 7', '"shift": 6')) != graph
    assert loads(text.replace('"fifo": 1024', '"fifo": 512')) != graph
    assert loads(text.replace('"moe_dynamic"', '"moe"')) != graph
    assert graph != 3


def test_an_unfinished_graph_can_be_kept() -> None:
    g = sg.Graph()
    loop = g.feedback(sg.int8[1, 4], (64, "T"), "loop")
    g.output(loop.flatten(0, 1), "y")
    again = loads(dumps(g))
    assert again == g
    with pytest.raises(sg.StepError, match="never connected"):
        again.check()


def _entry(change: dict[str, object]) -> str:
    g = sg.Graph()
    g.output(g.input("x", sg.int8[1, 4], ("T",)).promote(), "y")
    data = json.loads(dumps(g))
    data["nodes"][1] |= change
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the text is no stepgen program"),
        ("{}", "the text is no stepgen program: 'stepgen'"),
        ('{"stepgen": 99}', "the text is of version 99, this reads 1"),
        (_entry({"op": "sculpt"}), "there is no operator 'sculpt'"),
        (_entry({"attrs": {"level": 7}}), r"promote at .*: level must be an integer within 0\.\.1"),
        (_entry({"inputs": [{"from": ["z", 0]}]}), "has no node 'z'"),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(sg.StepError, match=message):
        loads(text)


def test_extents_in_a_text_are_only_arithmetic() -> None:
    text = (
        dumps(_everything())
        .replace('"dim": "T"', '"dim": "open(1)"')
        .replace('"positive": false', '"sign": false')
    )
    with pytest.raises(sg.StepError, match=r"'open\(1\)' is no extent of a dim"):
        loads(text)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(sg.StepError, match=r"nothing.json can't be read as a program"):
        sg.load(tmp_path / "nothing.json")
