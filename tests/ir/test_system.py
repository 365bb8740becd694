"""What may be joined to a system, and what is said of what may not."""

from __future__ import annotations

import json
import re

import pytest

import stepgen as sg
from stepgen.ir import text
from stepgen.ir.system import SystemGraph, unfit
from stepgen.semantics import executor


def passing(dtype=sg.int8[1, 4], shape=("N",), *, name: str = "g") -> sg.Graph:
    """A program of one stream."""
    g = sg.Graph(name)
    g.output(g.input("x", dtype, shape), "y")
    return g


def chain(**more: object) -> SystemGraph:
    parts = {"second": passing(), "first": passing(name="other")}
    return SystemGraph(parts, {"first_y": "second_x"}, **more)


def test_a_part_comes_behind_what_feeds_it() -> None:
    system = chain(lanes={"second": 2})
    assert list(system.parts) == ["first", "second"]
    assert (list(system.inputs), list(system.outputs)) == (["first_x"], ["second_y"])
    assert system.lanes == {"first": 4, "second": 2}
    assert system.node("second_y").op == "output"


BOUND = sg.dynamic("B", bound=3)


@pytest.mark.parametrize(
    ("made", "taken", "said"),
    [
        ((sg.int8[1, 4], (2,)), (sg.int8[1, 4], ("N",)), ""),
        ((sg.int8[1, 4], (2,)), (sg.int8[1, 4], (BOUND,)), ""),
        ((sg.int8[BOUND, 4], (2,)), (sg.int8["M", 4], (2,)), ""),
        ((sg.Selector(3, hot=1), (2,)), (sg.Selector(3), (2,)), ""),
        ((sg.int8[1, 4], (2, 3)), (sg.int8[1, 4], (2,)), "the one has 2 dims, the other 1"),
        ((sg.int8[1, 4], (2,)), (sg.int32[1, 4], (2,)), "elements are int8 there and int32 here"),
        ((sg.int8[1, 4], (2,)), (sg.int8[1, 4], (3,)), "D0 is 2 there and must be 3 here"),
        ((sg.int8[1, 4], ("N", 3)), (sg.int8[1, 4], (2, 3)), "D1 is N there and must be 2 here"),
        (
            (sg.int8[1, 4], (2,)),
            (sg.int8[1, 8], (2,)),
            "the number of columns of a tile is 4 there and must be 8 here",
        ),
        (
            (sg.int8[1, 4], (4,)),
            (sg.int8[1, 4], (BOUND,)),
            "D0 may be 4 there (4) and is at most 3 here (B)",
        ),
        (
            (sg.int8["M", 4], (4,)),
            (sg.int8[BOUND, 4], (4,)),
            "the number of rows of a tile has no bound there (M) and is at most 3 here (B)",
        ),
        (
            (sg.int8[1, 4], (2, sg.ragged("R"))),
            (sg.int8[1, 4], (2, "N")),
            "D0 differs from group to group there (R), but not here (N)",
        ),
        (
            (sg.int8[1, 4], ("N",)),
            (sg.int8[1, 4], (sg.dynamic("P", positive=True),)),
            "D0 may be 0 there (N), but not here (P)",
        ),
        ((sg.Selector(3), (2,)), (sg.Selector(2), (2,)), "selector of 3 is not selector of 2"),
        ((sg.Selector(3), (2,)), (sg.int8[1, 4], (2,)), "selector of 3 is not int8 1x4"),
    ],
)
def test_what_fits(made, taken, said) -> None:
    one, other = (passing(*side).inputs["x"] for side in (made, taken))
    found = unfit(one, other)
    assert bool(found) == bool(said)
    if "selector" not in said:
        assert found == said


def joined(parts: dict, links: dict, **more: object) -> SystemGraph:
    return SystemGraph(parts, links, **more)


@pytest.mark.parametrize(
    ("parts", "links", "more", "said"),
    [
        ({}, {}, {}, "it needs at least 1 part"),
        ({"a b": passing()}, {}, {}, "the name of a part must be an ASCII identifier"),
        ({"a": 3}, {}, {}, "parts must be"),
        (
            {"a": chain()},
            {},
            {},
            "the part a must be one program, not SystemGraph(system, first, second)",
        ),
        (
            {"a": passing(), "a_x": passing()},
            {},
            {},
            "the names a and a_x of parts are ambiguous: what is in a_x could be called",
        ),
        ({"a": passing()}, {"a_z": "a_x"}, {}, "no part has an output 'a_z', those are a_y"),
        ({"a": passing()}, {"a_y": "x"}, {}, "no part has an input 'x', those are a_x"),
        (
            {"a": passing(), "b": passing(), "c": passing()},
            {"a_y": "c_x", "b_y": "c_x"},
            {},
            "a_y and b_y can't both feed c_x",
        ),
        (
            {"a": passing(), "b": passing(sg.int8[1, 8])},
            {"a_y": "b_x"},
            {},
            "a_y is Stream[int8 1x4; N], which can't feed b_x, Stream[int8 1x8; N]: the number of "
            "columns of a tile is 4 there and must be 8 here",
        ),
        (
            {"a": passing(), "b": passing()},
            {"a_y": "b_x", "b_y": "a_x"},
            {},
            "parts can't feed each other in a circle, but a_y feeds b_x and b_y feeds a_x",
        ),
        ({"a": passing()}, {"a_y": "a_x"}, {}, "parts can't feed each other in a circle, but a_y"),
        (
            {"a": passing()},
            {},
            {"lanes": {"b": 4}},
            "lanes are given for 'b', but the parts are a",
        ),
        ({"a": passing()}, {}, {"name": "1"}, "its name must be an ASCII identifier"),
        ({"a": passing()}, {}, {"lanes": "4"}, "lanes must be"),
        ({"a": passing()}, ["a_y"], {}, "connect must be"),
    ],
)
def test_what_can_not_be_joined(parts, links, more, said) -> None:
    with pytest.raises(
        sg.StepError, match=rf"^(s|S)ystem at test_system.py:\d+: .*{re.escape(said)}"
    ):
        joined(parts, links, **more)


def test_a_system_is_not_one_program() -> None:
    said = "^the system system is made of several programs, and this takes one of them: first or "
    for use in (
        lambda g: sg.metrics(g),
        lambda g: executor.run(g, {"first_x": [[[1, 2, 3, 4]]]}),
        lambda g: g.input("z", sg.int8[1, 1], (1,)),
    ):
        with pytest.raises(sg.StepError, match=said):
            use(chain())
    with pytest.raises(AttributeError, match="no attribute 'feedback_'"):
        _ = chain().feedback_


def test_the_text_of_a_system() -> None:
    system = chain(lanes={"first": 8}, name="pair")
    again = text.loads(text.dumps(system))
    assert again == system
    assert list(again.parts) == list(system.parts)
    assert again != chain(lanes={"first": 4}, name="pair")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("links"), "lacks 'links'"),
        (lambda d: d["lanes"].update(first=True), "has a 'first' that is True"),
        (lambda d: d["links"].update(first_y=3), "has a 'first_y' that is 3"),
        (lambda d: d["parts"].update(first=3), "has a 'first' that is 3"),
        (lambda d: d["parts"]["first"].pop("nodes"), "lacks 'nodes'"),
        (lambda d: d.update(parts={}), "it needs at least 1 part"),
    ],
)
def test_a_text_that_was_changed(change, said) -> None:
    data = json.loads(text.dumps(chain()))
    change(data)
    with pytest.raises(sg.StepError, match=re.escape(said)):
        text.loads(json.dumps(data), "some.json")
