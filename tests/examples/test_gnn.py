"""The layer of a graph neural network against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure


def neighbours_of(inputs: dict[str, Any]) -> list[list[int]]:
    edges = np.ravel(inputs["edges"]).astype(int)
    return [edges[start : start + n].tolist() for start, n in np.reshape(inputs["ranges"], (-1, 2))]


def reference(inputs: dict[str, Any], aggregate: str) -> Any:
    x, w = inputs["x"].astype(float), inputs["w"].astype(float)
    combined = []
    for node, near in enumerate(neighbours_of(inputs)):
        total = x[[node, *near]].sum(axis=0)
        combined.append(total / (1 + len(near)) if aggregate == "mean" else total)
    return np.maximum(np.array(combined) @ w, 0)


@pytest.mark.parametrize("aggregate", ["mean", "sum"])
@pytest.mark.parametrize(
    "neighbours",
    [None, [[1, 2], [], [0, 1, 2], [3], []], [[], [], []], [[]]],
    ids=["drawn", "some isolated", "all isolated", "one node"],
)
@pytest.mark.parametrize(("element", "error"), [("f32", 1e-5), ("bf16", 0.02)])
def test_it_is_a_layer(neighbours: Any, aggregate: str, element: str, error: float) -> None:
    graph, inputs = example("gnn").gnn(
        neighbours, tile=4, aggregate=aggregate, element=element, seed=3
    )
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    expected = reference(inputs, aggregate)
    np.testing.assert_allclose(result.tensors["y"], expected, atol=error, rtol=error)


def test_drawn_graphs_have_isolated_and_popular_nodes() -> None:
    _, inputs = example("gnn").gnn(nodes=200, degree=3, data=False)
    degrees = [len(near) for near in neighbours_of(inputs)]
    assert 2 < np.mean(degrees) < 4
    assert 20 < degrees.count(0) < 100
    assert max(degrees) > 10
    assert set(inputs) == {"ranges", "edges"}


def test_traffic_counts_every_neighbour() -> None:
    graph, _ = example("gnn").gnn([[1, 2], [], [0]], width=16, hidden=32, element="f32")
    moved = sg.metrics(graph).evaluate({graph.node("edges").inputs[0].totals[0]: 3}).traffic
    assert moved == 3 * (8 + 16 * 4) + 3 * 16 * 4 + 16 * 32 * 4 + 3 * 32 * 4


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"aggregate": "max"}, 'needs aggregate "mean" or "sum", not \'max\''),
        ({"element": "int8"}, 'needs element "bf16" or "f32", not \'int8\''),
        ({"columns": 5}, "needs hidden divisible by columns, not 32 by 5"),
        ({"neighbours": [[1], [2]]}, "needs neighbours within its 2 nodes"),
        ({"neighbours": []}, "needs neighbours within its 0 nodes"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.StepError, match=sentence):
        example("gnn").gnn(**settings)
