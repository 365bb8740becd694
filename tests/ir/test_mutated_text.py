"""Graph files with every field changed to every kind of value: refused, or a valid graph."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hostile import deep, refused, works
from mutations import places
from programs import example
from seeds import slow

import stepgen as sg
from stepgen.ir.text import dumps, loads

GONE = object()
VALUES = [
    *(GONE, None, True, False, -1, 0, 1, 2, 3, 999, 2**62, 2**63, 10**30, 1.5, 2.0, 1e300),
    *(
        float("nan"),
        float("inf"),
        "",
        "a",
        "a b",
        "1",
        "../x",
        "a\0b",
        "٣",
        "\ud800",
        "x" * 100_000,
    ),
    *("R", "2*R", "-R", "R - 9", "R/2", "1/0", "9**9**9**9", "(" * 500, "R +" * 5000 + "R"),
    *([], [1], [1, 2], [1, 2, 3], [[1]], [None], deep(50), {}, {"a": 1}, {"fn": "matmul"}),
    *({"fn": "none"}, {"fn": []}, {"fn": {}}, {"fn": "scale", "factor": float("nan")}),
    *({"fn": "requantize", "shift": "6"}, {"tile": [1, 8, "int8"]}, {"tile": [1, 8]}, {"tile": 1}),
    *({"tile": [-1, 8, None]}, {"selector": 2, "hot": 1}, {"selector": None, "hot": None}),
    *({"selector": 2**40, "hot": 0}, {"tuple": []}, {"tuple": [1]}, {"buffer": 3, "dims": 3}),
    *({"tuple": {"tile": [1, 8, "int8"]}}, {"buffer": {"tile": [1, 8, "int8"]}, "dims": [2]}),
    *({"dim": name, "kind": "dynamic", "bound": 3, "positive": True} for name in ("R", "Q", "a b")),
    *({"dim": "-R", "kind": kind, "bound": 3} for kind in ("dynamic", "ragged", "static", None)),
    *("int8", "source", "output", "partition", ["x", 0], ["x", 7], ["x", -1], ["nobody", 0]),
]
DRAWN = 4
"""Values for each field."""


def everything() -> sg.Graph:
    """Operators with parameters of all kinds, all data types, a cycle."""
    g = sg.Graph("everything")
    rows = sg.dynamic("R", bound=4, positive=True)
    x = g.input("x", sg.Tile(rows, 4, sg.bf16), (3, sg.ragged("L", bound=3)))
    loop = g.feedback(sg.Selector(2, hot=1), (3,), "loop")
    parts = sg.partition(x, loop.fifo(9), rank=1)
    data, order = sg.eager_merge([p.map(sg.fn.scale(0.5)) for p in parts], rank=1)
    loop.connect(order)
    g.output(loop.promote(), "who")
    pairs = data.zip(data).map(sg.fn.compare("lt")).map(sg.fn.convert("f32"))
    g.output(pairs.bufferize(rank=1).streamify(count=2), "y")
    at = g.input("at", sg.address[1, 1], (5,))
    tile = sg.random_offchip_load(at, g.tensor("t", (8, 4), sg.f32, base=4096), tile=(2, 4))
    g.output(tile.promote(0).accum(sg.fn.maximum(), rank=1, init=-1.5), "z")
    return g


def changed(data: Any, path: tuple[Any, ...], value: Any) -> str:
    """The text of a JSON value in which one field is another, or gone."""
    data = place = copy.deepcopy(data)
    for key in path[:-1]:
        place = place[key]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    "graph",
    [
        everything(),
        slow(example("moe").moe(tokens=4, experts=2, width=8, hidden=8, columns=8)[0]),
    ],
    ids=lambda graph: graph.name,
)
def test_every_field_of_a_graph_takes_every_value(graph: sg.Graph) -> None:
    draw = random.Random(graph.name)
    data = json.loads(dumps(graph))
    right = 0
    for path in places(data):
        for value in draw.sample(VALUES, DRAWN):
            try:
                read = loads(changed(data, path, value), "g.json")
            except sg.StepError as error:
                refused(error, "does not fit together")
                continue
            except Exception as error:
                error.add_note(f"with {path} = {str(value)[:60]}")
                raise
            try:
                works(read)
            except Exception as error:
                error.add_note(f"later, with {path} = {str(value)[:60]}")
                raise
            right += 1
    assert right
