"""Names are ASCII identifiers wherever they come from: a program or a file."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepgen as sg
from stepgen.compile.transforms.rewrite import Rewrite
from stepgen.ir.names import LONGEST
from stepgen.ir.text import dumps, loads

HOSTILE = [
    "../../../x",
    "/absolute",
    "a/b",
    "a\\b",
    "..",
    "a.b",
    "",
    "7",
    "7up",
    "a b",
    " a",
    "a\n",
    "a\0",
    "a-b",
    "a;b",
    "größe",
    "ﬁle",
    "x²",
    "٣",
    "x" * (LONGEST + 1),
    None,
    7,
    7.5,
    True,
    b"x",
    ["x"],
    {"x": 1},
]


LETTERS = string.ascii_letters + "_"


def _x(g: sg.Graph) -> sg.Stream:
    return g.input("x", sg.int8[1, 4], (2,))


NAMED: dict[str, Callable[[sg.Graph, Any], object]] = {
    "graph": lambda g, name: sg.Graph(name),
    "input": lambda g, name: g.input(name, sg.int8[1, 4], (2,)),
    "output": lambda g, name: g.output(_x(g), name),
    "tensor": lambda g, name: g.tensor(name, (4, 4), sg.int8),
    "feedback": lambda g, name: g.feedback(sg.int8[1, 4], (2,), name),
}


@pytest.mark.parametrize("name", HOSTILE, ids=lambda n: repr(n)[:20])
@pytest.mark.parametrize("what", NAMED)
def test_a_name_that_is_none_is_refused_where_it_is_written(what: str, name: object) -> None:
    with pytest.raises(sg.StepError, match=r"test_names\.py:\d+.* must .*not"):
        NAMED[what](sg.Graph(), name)


@pytest.mark.parametrize("name", [n for n in HOSTILE if n is not None], ids=lambda n: repr(n)[:20])
@pytest.mark.parametrize("method", ["promote", "fork", "bufferize", "flatten"])
def test_so_is_one_of_an_operator(method: str, name: object) -> None:
    arguments = {"promote": (), "fork": (2,), "bufferize": (), "flatten": (0, 1)}[method]
    keywords: dict[str, Any] = {"rank": 0} if method == "bufferize" else {}
    x = sg.Graph().input("x", sg.int8[1, 4], (2, 3))
    with pytest.raises(sg.StepError, match=rf"{method} at test_names\.py:\d+: its name must"):
        getattr(x, method)(*arguments, **keywords, name=name)


@pytest.mark.parametrize("make", [sg.dynamic, sg.ragged])
@pytest.mark.parametrize("name", ["a b", "", "7", "größe", "ﬁ", "lambda", "None", 7, None])
def test_dims_have_names_that_come_back_from_a_text(make: Any, name: object) -> None:
    with pytest.raises(sg.StepError, match=r"dim at test_names\.py:\d+ .*, (not|a word of)|not"):
        make(name)


@settings(max_examples=30)
@given(st.text(LETTERS, min_size=1, max_size=1), st.text(LETTERS + string.digits, max_size=99))
def test_every_identifier_is_a_name(first: str, others: str) -> None:
    name = first + others
    g = sg.Graph(name)
    g.output(g.input(name, sg.int8[1, 4], (2,)), f"{name[:97]}_y")
    g.tensor(f"{name[:97]}_t", (4, 4), sg.int8)
    assert loads(dumps(g)) == g


def test_numpys_texts_are_names() -> None:
    assert type(sg.Graph(np.str_("g")).name) is str


def test_inputs_and_tensors_are_distinguished() -> None:
    g = sg.Graph()
    g.tensor("w", (4, 4), sg.int8)
    with pytest.raises(sg.StepError, match=r"Tensor.* of the name w already"):
        g.input("w", sg.int8[1, 4], (2,))
    _x(g)
    with pytest.raises(sg.StepError, match="an input of this name already"):
        g.tensor("x", (4, 4), sg.int8)


def _names(data: Any) -> Iterator[dict[str, Any]]:
    """Every object of a text that has a name."""
    if isinstance(data, dict):
        if "name" in data:
            yield data
        for value in data.values():
            yield from _names(value)
    elif isinstance(data, list):
        for value in data:
            yield from _names(value)


def _program() -> sg.Graph:
    """It has a feedback, tensors, sources, outputs, and nodes with names by default."""
    g = sg.Graph("loop")
    state = g.feedback(sg.int8[1, 4], (2,), "state")
    g.output(state.promote(), "seen")
    state.connect(_x(g))
    at = g.input("at", sg.address[1, 1], (5,))
    tile = sg.random_offchip_load(at, g.tensor("t", (8, 4), sg.int8), tile=(2, 4))
    g.output(tile, "z")
    return g


PLACES = sum(1 for _ in _names(json.loads(dumps(_program()))))


@pytest.mark.parametrize("name", [n for n in HOSTILE if n != b"x"], ids=lambda n: repr(n)[:20])
@pytest.mark.parametrize("place", range(PLACES))
def test_a_file_is_refused_that_has_such_a_name(place: int, name: object, tmp_path: Path) -> None:
    data = json.loads(dumps(_program(), lines=False))
    list(_names(data))[place]["name"] = name
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(data))
    with pytest.raises(sg.StepError, match=r"at .*hostile\.json.* must (be an ASCII|have at most)"):
        sg.load(path)


@pytest.mark.parametrize("where", [None, 7, "p.py:3\n\x1b[31m", ["p.py"]])
def test_a_line_in_a_file_is_a_text(where: object) -> None:
    data = json.loads(dumps(_program()))
    data["nodes"][0]["where"] = where
    with pytest.raises(sg.StepError, match="its line must be a string, not"):
        loads(json.dumps(data))


def test_what_a_transform_names_is_not_too_long() -> None:
    g = sg.Graph()
    g.output(_x(g).promote(name="p" * LONGEST), "y")
    rewrite = Rewrite(g)
    made = {rewrite.name("p" * LONGEST) for _ in range(200)}
    made |= {rewrite.name("p" * LONGEST + "_r3") for _ in range(20)}
    assert len(made) == 220
    assert all(len(name) <= LONGEST for name in made)
