"""Linears of a loop that share one array: the same results, from one unit of products."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from examples import models
from frontend import decoders
from stepgen.compile.lower import lower as circuit_of
from stepgen.frontend import Builder, Decoder, Model, lower, quantize
from stepgen.semantics.executor import run
from stepgen.timing.tiles.machines import U55C
from stepgen.timing.tiles.variants import changed

TEXT = (np.arange(40) * 7 + np.arange(40) ** 2) % decoders.VOCABULARY


def gated(layers: int = 3, width: int = 8, hidden: int = 12) -> Model:
    """Layers of three linears, the last of which adds up three parts of a row."""
    rng = np.random.default_rng(0)
    b = Builder("gated", tokens=(1, 8))
    x = b.input("x", width)
    for layer in range(layers):
        with b.scope(f"layers.{layer}"):
            h = b.norm(x, np.ones(width))
            gate = b.linear(h, rng.normal(size=(width, hidden)), name="gate")
            up = b.linear(h, rng.normal(size=(width, hidden)), rng.normal(size=hidden), name="up")
            x = x + b.linear(gate * up, rng.normal(size=(hidden, width)), name="down")
    return b.model(x)


def outputs(model: Model, **settings: Any) -> Any:
    graph, weights = lower(model, element="f32", **settings)
    x = np.random.default_rng(1).normal(size=(2, 1, 8)).astype(np.float32)
    return np.array(run(graph, {**weights, "x": x}).nested(next(iter(graph.outputs))), np.float64)


@pytest.mark.parametrize(
    "settings",
    [{}, {"tile_rows": 4}, {"tile_cols": 2}, {"rows": 2}, {"tile_rows": 1, "columns": 4}],
)
def test_results_are_those_of_the_model(settings: dict[str, Any]) -> None:
    model = gated()
    x = np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32)
    want = model.run({"x": x})[model.outputs[0]]
    found = outputs(model, array="shared", **settings).reshape(want.shape)
    assert np.abs(found - want).max() <= 2e-6 * np.abs(want).max()


@pytest.mark.parametrize(
    "scheme",
    [
        *({"scheme": "w4", "group": 4}, {"scheme": "w8a8"}, {"scheme": "w4a8", "group": 4}, {}),
        {"scheme": "w8a8", "scales": "powers"},
    ],
)
def test_integers_and_scales(scheme: dict[str, Any]) -> None:
    """Scales of a group are in the array, those of a column behind it."""
    model = quantize(decoders.decoder(decoders.Sizes(layers=2, hidden=8), 1), TEXT, **scheme)
    found = [
        Decoder(model, cache=6, tile=3, array=array).run({"ids": TEXT[:2]})["logits"]  # type: ignore[arg-type]
        for array in ("own", "shared")
    ]
    assert np.abs(found[0] - found[1]).max() <= 2e-6 * np.abs(found[0]).max()
    assert scheme.get("scheme") != "w8a8" or np.array_equal(*found)


def test_one_unit_multiplies() -> None:
    graphs = [lower(gated(), array=array, data=False)[0] for array in ("own", "shared")]
    own, shared = (Counter(unit.kind for unit in circuit_of(graph).units) for graph in graphs)
    assert (own["matvec"], shared["matvec"]) == (3, 1)
    assert shared["load"] < own["load"]


def test_a_linear_alone_shares_nothing() -> None:
    b = Builder("one", tokens=(1, 8))
    x = b.input("x", 4)
    for layer in range(2):
        with b.scope(f"layers.{layer}"):
            x = x + b.linear(x, np.eye(4) * (layer + 1), name="only")
    with pytest.raises(sg.StepError, match="one: array=shared changes nothing here: an array serv"):
        lower(b.model(x), array="shared")


def test_a_way_to_share_that_is_not_there() -> None:
    with pytest.raises(sg.StepError, match="gated: array must be own or shared, not 'both'"):
        lower(gated(), array="both")  # type: ignore[arg-type]


def test_multipliers_are_divided_by_work() -> None:
    """Down has the work of gate and up, so as many multipliers as either: the sum is bounded."""
    machine = changed(U55C, {"compute.multipliers": 100})
    x = np.zeros((2, 1, 8), np.float32)
    cycles = {}
    for array in ("own", "shared"):
        graph, weights = lower(gated(), array=array, data=False)  # type: ignore[arg-type]
        made = sg.simulate(graph, {**weights, "x": x}, machine=machine)
        functions = {node.name: str(node.attrs.get("fn", "")) for node in graph.nodes}
        given = [o.compute // 2 for n, o in made.activity.items() if "matmul" in functions[n]]
        assert 90 <= sum(given) <= 100
        assert len(given) == (3 if array == "own" else 1)
        cycles[array] = made.cycles
    few = changed(U55C, {"compute.multipliers": 2})
    with pytest.raises(sg.StepError, match=r"3 matrix operators, and u55c .*has 2 multipliers"):
        sg.simulate(lower(gated(), data=False)[0], {"x": x}, machine=few)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_circuits(name: str) -> None:
    """A token of a model, by the reference, the cycle model and the circuit."""
    assert sg.test(getattr(models, name)(), cache=32, array="shared", driver="cpp").good
