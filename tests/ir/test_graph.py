"""Building graphs: names, lines, handles, cycles, printing, completeness."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from programs import example

import stepgen as sg


def _here() -> str:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"test_graph.py:{frame.f_back.f_lineno}"


def test_a_stream_prints_its_type() -> None:
    g = sg.Graph()
    x = g.input("x", sg.bf16[1, 64], (10, 1))
    parts = sg.partition(x, g.input("route", sg.Selector(2), (10,)), rank=1, num_consumers=2)
    assert str(parts[0]) == "Stream[bf16 1x64; E0, 1]"
    assert str(x.zip(x)) == "Stream[(bf16 1x64, bf16 1x64); 10, 1]"
    assert str(x.bufferize(rank=1)) == "Stream[buffer of bf16 1x64 [1]; 10]"
    assert str(g.node("route").outputs[0]) == "Stream[selector 2; 10]"
    assert repr(parts[1]) == "<partition_0.1 Stream[bf16 1x64; E1, 1]>"


def test_a_node_knows_its_line_and_names_count_up() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6,))
    y, line = x.promote(), _here()
    assert (y.node.name, y.node.where) == ("promote_0", line)
    assert x.promote().node.name == "promote_1"
    assert x.promote(name="third").node.name == "third"
    assert x.promote(name="promote_2").node.name == "promote_2"
    assert x.promote().node.name == "promote_3"


def test_operators_are_functions_and_methods() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6, 2))
    assert str(sg.flatten(x, 0, 1)) == str(x.flatten(0, 1))
    assert str(sg.map(sg.fn.square(), x)) == str(x.map(sg.fn.square()))
    assert str(sg.accum(sg.fn.add(), x, rank=1)) == str(x.accum(sg.fn.add(), rank=1))
    assert "flatten" in dir(x)
    assert "flatten" in dir(sg)
    assert "matmul" in dir(sg.fn)
    for missing in (lambda: x.sculpt, lambda: sg.sculpt, lambda: sg.fn.sculpt):
        with pytest.raises(AttributeError, match="sculpt"):
            missing()


def test_a_fifo_belongs_to_one_use() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6,))
    x.fifo(17).promote()
    g.output(x, "y")
    uses = g.consumers(x)
    assert [(n.name, i, n.inputs[i].depth) for n, i in uses] == [
        ("promote_0", 0, 17),
        ("y", 0, None),
    ]
    assert x.fifo(17) == x
    with pytest.raises(sg.StepError, match=r"x\.0 needs a depth of at least 2, not 1"):
        x.fifo(1)


def test_equal_selectors_give_equal_dims() -> None:
    g = sg.Graph()
    route = g.input("route", sg.Selector(2), (10,))
    a, b = (
        sg.partition(g.input(n, sg.int8[1, 4], (10, 2)), route, rank=1)[1].flatten(0, 1)
        for n in "ab"
    )
    assert str(a.map(sg.fn.add(), b)) == "Stream[int8 1x4; 2*E1]"
    other = g.input("other", sg.Selector(2), (10,))
    c = sg.partition(g.input("c", sg.int8[1, 4], (10,)), other, rank=0)
    assert [str(s.shape[0]) for s in c] == ["E2", "E3"]


def test_a_loop_declares_what_a_partition_will_send_it() -> None:
    g = sg.Graph()
    x, route = g.input("x", sg.int8[1, 4], (10,)), g.input("route", sg.Selector(2), (10,))
    counts = [route.count(n) for n in range(2)]
    assert [part.shape[0] for part in sg.partition(x, route.fork(2)[1], rank=0)] == counts
    with pytest.raises(sg.StepError, match=r"count at .*: x\.0 has no selectors but is Stream"):
        x.count(0)
    with pytest.raises(sg.StepError, match=r"route\.0 have the consumers 0 to 1, not 2"):
        route.count(2)


def test_a_cycle_leaves_no_placeholder() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (64,))
    free = g.feedback(sg.Selector(2, hot=1), (64,), "free")
    regions = [r.map(sg.fn.square()) for r in sg.partition(x, free.fifo(8), rank=0)]
    data, order = sg.eager_merge(regions, rank=0)
    free.connect(order)
    g.output(data, "y")
    g.check()
    assert [n.op for n in g.nodes] == ["source", "partition", "map", "map", "eager_merge", "output"]
    used = g.node("partition_0").inputs[1]
    assert (used, used.depth, used.node.name) == (order, 8, "eager_merge_0")
    assert free.node not in g.nodes
    assert g.consumers(free) == g.consumers(order)
    late = free.promote()
    assert late.node.inputs[0] == order


def test_feedback_must_agree_with_what_was_declared() -> None:
    g = sg.Graph()
    loop = g.feedback(sg.int8[1, 4], (64, 2), "loop")
    x = g.input("x", sg.int8[1, 4], (64, 3))
    with pytest.raises(
        sg.StepError,
        match=r"feedback loop at test_graph.py:\d+: it was declared with shape \[64, 2\], but x\.0 "
        r"has shape \[64, 3\], which differs in dim D0, 2 against 3",
    ):
        loop.connect(x)
    with pytest.raises(sg.StepError, match=r"declared as Stream\[int8 1x4; 64, 2\], but x32.0 is"):
        loop.connect(g.input("x32", sg.int32[1, 4], (64, 2)))
    with pytest.raises(sg.StepError, match="differs in rank, 1 against 0"):
        loop.connect(g.input("flat", sg.int8[1, 4], (64,)))
    with pytest.raises(sg.StepError, match="needs the stream of another operator"):
        loop.connect(loop)
    loop.connect(g.input("good", sg.int8[1, 4], ("T", 2)))
    with pytest.raises(sg.StepError, match=r"it is connected to good\.0 already"):
        loop.connect(x)


def _around(g: sg.Graph, x: sg.Stream, back: sg.Stream) -> sg.Stream:
    return x.map(sg.fn.add(), back, name="added").map(sg.fn.square(), name="squared")


def _merged(g: sg.Graph, x: sg.Stream, back: sg.Stream) -> sg.Stream:
    """A loop through a merge in order of arrival: the end of each waits for that of the other."""
    data, _ = sg.eager_merge([x, back], rank=0, name="merge")
    ways = g.feedback(sg.Selector(2), data.shape, "ways")
    out, again = sg.partition(data, ways, rank=0, name="split")
    ways.connect(g.input("given", sg.Selector(2), ("M",)))
    g.output(out, "out")
    return again


def _joined(g: sg.Graph, x: sg.Stream, back: sg.Stream) -> sg.Stream:
    turns = g.input("turns", sg.Selector(2, hot=1), ("S",))
    return sg.reassemble([x, back], turns, rank=0).flatten(0, 1).map(sg.fn.square())


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        (_around, "that of added.0, which waits for that of squared.0"),
        (_merged, "that of merge.0, which waits for that of split.1"),
        (_joined, None),
    ],
)
def test_a_loop_whose_end_waits_for_itself(body: Any, ends: str | None) -> None:
    g = sg.Graph()
    back = g.feedback(sg.f32[1, 4], ("N",), "back")
    stream = body(g, g.input("x", sg.f32[1, 4], ("N",)), back)
    if ends is None:
        back.connect(stream)
        return
    with pytest.raises(
        sg.StepError, match=r"back at test_graph.py:\d+: no run would end"
    ) as raised:
        back.connect(stream)
    assert f"the end of {stream.name} waits for {ends}; let the loop enter" in str(raised.value)
    assert back.source is None
    assert g.consumers(back)


def test_an_open_feedback_is_found() -> None:
    g = sg.Graph()
    line = _here()
    g.output(g.feedback(sg.int8[1, 4], (4,), "loop"), "y")
    file, number = line.split(":")
    with pytest.raises(
        sg.StepError, match=rf"feedback loop at {file}:{int(number) + 1} of .* is never connected"
    ):
        g.check()


def test_a_graph_without_output_is_found() -> None:
    g = sg.Graph("idle")
    g.input("x", sg.int8[1, 4], (6,))
    with pytest.raises(sg.StepError, match="the graph idle has no output and stores nothing"):
        g.check()


def test_a_stream_without_a_reader_is_found() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6,))
    x.reshape(chunk=4)
    lost = _here().split(":")
    g.output(x, "y")
    with pytest.raises(
        sg.StepError,
        match=rf"reshape at test_graph.py:{int(lost[1]) - 1}: nothing reads reshape_0.0, "
        r"Stream\[int8 1x4; 2, 4\]; use it or make it an output",
    ):
        g.check()


def test_side_outputs_need_no_reader() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6,))
    g.output(x.reshape(chunk=4)[0], "a")
    g.output(sg.eager_merge([x, x], rank=0)[0], "b")
    sg.random_offchip_store(
        g.input("at", sg.address[1, 1], (6,)), x, g.tensor("t", (6, 4), sg.int8), tile=(1, 4)
    )
    g.check()


def test_names_are_given_once() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (6,))
    with pytest.raises(sg.StepError, match="the graph program has a node named x already"):
        x.promote(name="x")
    g.tensor("t", (4, 4), sg.int8)
    with pytest.raises(sg.StepError, match=r"tensor t at .*: the graph has Tensor\(t, int8 4x4\)"):
        g.tensor("t", (4, 4), sg.int8)
    with pytest.raises(sg.StepError, match="the graph program has no node 'z'"):
        g.node("z")


def test_what_a_program_names_may_be_a_key() -> None:
    g = sg.Graph()
    made = [g.tensor("a", (4, 8), sg.int8), g.tensor("b", (4, 8), sg.int8)]
    named = [*made, g.input("x", sg.int8[1, 8], (3,)), sg.int8, sg.int8[1, 8], sg.fn.matmul()]
    kept = {one: n for n, one in enumerate([*named, sg.static(3), sg.Selector(2)])}
    assert [kept[one] for one in named] == list(range(len(named)))


def test_streams_of_two_graphs_don_t_mix() -> None:
    g, h = sg.Graph(), sg.Graph("other")
    x, y = (graph.input("x", sg.int8[1, 4], (6,)) for graph in (g, h))
    with pytest.raises(sg.StepError, match=r"x\.0 belongs to another graph, other"):
        x.zip(y)
    with pytest.raises(sg.StepError, match="tensor t belongs to another graph than x"):
        sg.linear_offchip_store(x, h.tensor("t", (6, 4), sg.int8))


def test_a_graph_prints_every_stream_once() -> None:
    graph = example("moe").moe(experts=2)[0]
    text = str(graph)
    for node in graph.nodes:
        for stream in node.outputs:
            assert text.count(str(stream)) >= 1
    assert "partition_0.0  Stream[int8 1x64; E0, 1]" in text
    assert "tensor w1: int8 64x256" in text
    assert " object at " not in text
    assert all(len(line) == len(line.rstrip()) for line in text.splitlines())
