"""Programs as pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from systems import stored

import stepgen as sg
from stepgen.ir.picture import picture
from stepgen.program import program


def test_the_experts_are_drawn_once() -> None:
    graph = program.load("moe", draw=False, tensors=False).graph
    every, few = picture(graph, every=True), picture(graph)
    assert len(every.boxes) == len(graph.nodes)
    assert [(g.label, g.copies) for g in few.groups] == [("8 alike", 8)]
    assert len(few.boxes) == len(every.boxes) - 7 * len(few.groups[0].boxes)
    product = next(box for box in few.boxes if box.name == "map_0")
    assert product.lines == ("map_0", "matmul")
    assert len(product.members) == 8
    assert {graph.node(name).attrs["fn"].name for name in product.members} == {"matmul"}


def test_streams_have_their_types() -> None:
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[1, 4], ("N", 2))
    g.output(x.flatten(0, 1), "y")
    (into, out) = picture(g).arrows
    assert into.lines == ("int8 1x4", "[N, 2]")
    assert into.tip == "x.0: Stream[int8 1x4; N, 2]"
    assert (out.source, out.target) == ("flatten_0", "y")


def test_a_feedback_goes_back() -> None:
    graph = program.load("gnn", draw=False, tensors=False).graph
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    for arrow in picture(graph, every=True).arrows:
        assert arrow.back == (order[arrow.source] >= order[arrow.target])


def test_a_system_has_a_frame_for_each_part() -> None:
    drawn = picture(stored({"first": 2, "second": 4}))
    assert [g.label for g in drawn.groups] == ["first, 2 lanes", "second, 4 lanes"]
    assert ("first_y", "second_x") in {(a.source, a.target) for a in drawn.arrows}


@pytest.mark.parametrize("example", ["moe", "attention", "gnn"])
def test_examples_draw_themselves_in_notebooks(example: str) -> None:
    graph = program.load(example, draw=False, tensors=False).graph
    root = ElementTree.fromstring(graph._repr_html_())
    assert root.find("{http://www.w3.org/2000/svg}svg") is not None
    assert root.find("details") is not None
