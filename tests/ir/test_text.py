"""Programs as text."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from programs import example

import stepgen as sg
from stepgen.ir.text import dumps, loads
from stepgen.ir.versions import version


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
    assert loads(re.sub('"fifo": [0-9]+', '"fifo": 3', text)) != graph
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
        ("{", "the text is not a stepgen program"),
        ("{}", "the text is not a stepgen program: it lacks 'format'"),
        ("7", "the text is not a stepgen program: it lacks 'format'"),
        ('{"format": 1}', "the text lacks 'name'"),
        ('{"format": 0}', "the text is in format 0 of"),
        ('{"format": true}', "the text is in format True of"),
        ('{"format": 1, "stepgen": "a b"}', "the text has a 'stepgen' that is 'a b'"),
        ('{"format": 1, "units": []}', "the text is a design, not a graph: give the folder"),
        (
            '{"format": 9, "stepgen": "7.1"}',
            rf"the text is in format 9 of stepgen 7\.1, but this is stepgen {version()}, which "
            r"reads format 1$",
        ),
        (
            '{"format": 1, "stepgen": "7.1"}',
            r"lacks 'name' \(it was written by stepgen 7\.1, this is stepgen " + version(),
        ),
        ('{"stepgen": 1}', "the text lacks 'name'"),
        ("[" * 100_000, "the text is not a stepgen program: it is nested too deeply"),
        ("1" * 10_000, "the text is not a stepgen program: Exceeds the limit"),
        ('{"stepgen": 99}', r"the text is in format 99 of stepgen \(unknown\), but this is"),
        (_entry({"op": "sculpt"}), "there is no operator 'sculpt'"),
        (_entry({"attrs": {"level": 7}}), r"promote at .*: level must be an integer within 0\.\.1"),
        (_entry({"inputs": [{"from": ["z", 0]}]}), "has no node 'z'"),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(sg.StepError, match=message):
        loads(text)


def test_a_text_of_the_first_version_is_read() -> None:
    g = _everything()
    data = json.loads(dumps(g))
    assert (data.pop("format"), data.pop("stepgen")) == (1, version())
    assert loads(json.dumps({"stepgen": 1, **data})) == g


def test_extents_in_a_text_are_only_arithmetic() -> None:
    text = (
        dumps(_everything())
        .replace('"dim": "T"', '"dim": "open(1)"')
        .replace('"positive": false', '"sign": false')
    )
    with pytest.raises(sg.StepError, match=r"'open\(1\)' is not an extent of a dim"):
        loads(text)


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(sg.StepError, match=r"nothing.json can't be read as a program"):
        sg.load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("9**9**9**9", "a power must be an integer, and an extent of degree 64 at most"),
        ("T**65", "degree 64 at most"),
        ("((T**8)**8)**8", "degree 64 at most"),
        ("*".join(["T"] * 65), "degree 64, not more"),
        (f"(T + {' + '.join(f'ceil(T/{n})' for n in range(2, 9))})**30", "at most 10000 terms"),
        ("+".join(["T"] * 20_000), "at most 10000 characters, not 39999"),
        ("+".join(["T"] * 4_999), "is not an extent of a dim"),
        ("-" * 60 + "T", "50 operations deep"),
        ("-" * 9_000 + "T", "is not an extent of a dim"),
        ("(" * 300 + "T" + ")" * 300, "is not an extent of a dim"),
        ("ceiling(" * 60 + "T" + ")" * 60, "50 operations deep"),
        ("1/0", "divides by 0"),
        ("T/(2-2)", "divides by 0"),
        ("0**-1", "divides by 0"),
        ("9" * 30 + "*T", "a number of 100 bits"),
        ("T**T", "a power must be an integer"),
        ("T**0.5", "is not an extent of a dim"),
        ("7", "a dim that is dynamic must depend on something, not be 7"),
        ("-5", "must depend on something, not be -5"),
        ("1/2", "must depend on something"),
        ("Q", "there is no dim named 'Q'"),
        ("open(1)", "is not an extent of a dim"),
        ("ceiling(T, 2)", "is not an extent of a dim"),
        ("Min(T, key=2)", "is not an extent of a dim"),
        ("T.x", "is not an extent of a dim"),
        ("'T'", "is not an extent of a dim"),
        ("", "is not an extent of a dim"),
        (7, "an extent must be a string, not 7"),
        (None, "an extent must be a string, not None"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_extents_in_a_text_are_bounded(size: object, message: str) -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], ("T",))
    g.output(x.promote(), "y")
    g.output(g.input("x2", sg.int8[1, 4], ("T",)), "y2")
    data = json.loads(dumps(g))
    assert data["nodes"][-2]["name"] == "x2"
    data["nodes"][-2]["attrs"]["shape"] = [{"dim": size, "kind": "dynamic", "bound": None}]
    with pytest.raises(sg.StepError, match=message):
        loads(json.dumps(data))


def _paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where all parts of a text lie."""
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _paths(value, (*path, key))


_HOSTILE = [
    None,
    True,
    -1,
    10**30,
    0.5,
    "",
    "x" * 200,
    "\0",
    [],
    [[]],
    {},
    {"dim": "T"},
    {"fn": "x"},
]
_TEXT = dumps(_everything())
_PATHS = list(_paths(json.loads(_TEXT)))[1:]


@pytest.mark.parametrize("part", range(8))
def test_any_value_of_any_part_of_a_text_is_read_or_refused_in_one_sentence(part: int) -> None:
    for number, path in enumerate(_PATHS):
        if number % 8 != part:
            continue
        data = json.loads(_TEXT)
        *way, key = path
        place = functools.reduce(lambda inner, step: inner[step], way, data)
        if number % len(_HOSTILE) == 0:
            del place[key]
        else:
            place[key] = _HOSTILE[number % len(_HOSTILE)]
        with contextlib.suppress(sg.StepError):
            loads(json.dumps(data))
