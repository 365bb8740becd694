"""Decode attention against numpy: the result and what is in the caches afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.semantics.executor import Result, run
from stepgen.semantics.shapes import measure

SIZE = {"rows": 2, "width": 8, "tile": 4}
LENGTHS = [5, 1, 3, 4, 12, 0, 7]
TOLERANCE = {"f32": 1e-5, "bf16": 2e-2}


def ran(**settings: Any) -> tuple[Result, dict[str, Any]]:
    graph, inputs = example("attention").attention(**settings)
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    return result, inputs


def caches(inputs: dict[str, Any], lengths: list[int]) -> dict[str, Any]:
    """Keys and values ``[B, capacity, width]`` with the new rows."""
    found = {}
    for name, row in (("keys", "key"), ("values", "value")):
        cache = np.array(inputs[name], float).reshape(len(lengths), -1, SIZE["width"])
        for request, length in enumerate(lengths):
            cache[request, length] = inputs[row][request]
        found[name] = cache
    return found


def reference(inputs: dict[str, Any], lengths: list[int], softmax: str) -> Any:
    after = caches(inputs, lengths)
    out = []
    for request, length in enumerate(lengths):
        count = length + 1
        if softmax == "published":
            count = (length // SIZE["tile"] + 1) * SIZE["tile"]
        query = inputs["query"].reshape(len(lengths), SIZE["rows"], -1)[request]
        scores = query @ after["keys"][request, :count].T
        if softmax == "safe":
            scores = scores * SIZE["width"] ** -0.5
            scores -= scores.max(axis=1, keepdims=True)
        weights = np.exp(scores)
        out.append(weights / weights.sum(1, keepdims=True) @ after["values"][request, :count])
    return np.concatenate(out)


@pytest.mark.parametrize("element", TOLERANCE)
@pytest.mark.parametrize("softmax", ["safe", "published"])
@pytest.mark.parametrize("lengths", [LENGTHS, [6], [4, 4, 4]], ids=str)
def test_results_and_caches(softmax: str, element: str, lengths: list[int]) -> None:
    settings = {**SIZE, "softmax": softmax, "element": element, "lengths": lengths}
    result, inputs = ran(**settings, seed=1)
    expected = reference(inputs, lengths, softmax)
    tolerance = TOLERANCE[element]
    np.testing.assert_allclose(result.tensors["y"], expected, atol=tolerance, rtol=tolerance)
    for name, cache in caches(inputs, lengths).items():
        kept = result.tensors[name].astype(float).reshape(cache.shape)
        np.testing.assert_allclose(kept, cache, atol=0, rtol=2**-8)


@pytest.mark.parametrize("lengths", [LENGTHS, [6]], ids=str)
def test_integers(lengths: list[int]) -> None:
    """Scores exactly those of integers, and weights rounded to one of 127."""
    module = example("attention")
    result, inputs = ran(**SIZE, element="int8", lengths=lengths, seed=1)
    names = ("query", "key", "value", "keys", "values")
    assert all(inputs[n].dtype == np.int8 for n in names)
    whole = {n: inputs[n] * 2.0**-module.PLACES for n in names}
    expected = reference(whole, lengths, "safe")
    np.testing.assert_allclose(result.tensors["y"], expected, atol=0.03)
    for name, cache in caches(inputs, lengths).items():
        assert (result.tensors[name].reshape(cache.shape) == cache).all()


def test_what_lies_behind_a_request_does_not_matter_to_the_safe_softmax() -> None:
    graph, inputs = example("attention").attention(**SIZE, lengths=LENGTHS, element="f32")
    clean = run(graph, inputs).tensors["y"]
    rows = np.arange(len(inputs["keys"]) // len(LENGTHS))
    behind = (rows > np.array(LENGTHS)[:, None]).reshape(-1, 1)
    for name in ("keys", "values"):
        inputs[name] = np.where(behind, 1e4, inputs[name])
    assert (run(graph, inputs).tensors["y"] == clean).all()


def test_large_scores_overflow_only_as_published() -> None:
    results = {}
    for softmax in ("safe", "published"):
        settings = {**SIZE, "softmax": softmax, "element": "f32", "lengths": LENGTHS}
        graph, inputs = example("attention").attention(**settings)
        inputs["query"] = 1e3 * inputs["query"]
        results[softmax] = run(graph, inputs).tensors["y"]
    assert not np.isfinite(results["published"]).all()
    expected = reference(inputs, LENGTHS, "safe")
    np.testing.assert_allclose(results["safe"], expected, atol=1e-3, rtol=1e-3)


def test_a_batch_may_be_one_request() -> None:
    graph, inputs = example("attention").attention(**SIZE, batch=1)
    assert inputs["query"].shape == (SIZE["rows"], SIZE["width"])
    assert run(graph, inputs).tensors["y"].shape == inputs["query"].shape


@pytest.mark.parametrize("softmax", ["safe", "published"])
def test_traffic_follows_from_the_lengths(softmax: str) -> None:
    lengths = np.array([1063, 17, 31, 32, 4000])
    graph, inputs = example("attention").attention(lengths, softmax=softmax, data=False)
    assert "keys" not in inputs
    tiles = int((lengths // 32 + 1).sum())
    span = graph.node("keys_read").inputs[0]
    total = span.totals[0]
    moved = sg.metrics(graph).traffic.subs({total: tiles})
    # Queries and new rows, tiles of both caches read, the last of each written, results.
    batch, tile = len(lengths), 32 * 64 * 2
    assert moved == batch * 10 * 64 * 2 + 2 * (tiles + batch) * tile + batch * 8 * 64 * 4


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"softmax": "hard"}, 'needs softmax "safe" or "published", not \'hard\''),
        ({"element": "int16"}, "works on f32, bf16 or int8, not on int16"),
        ({"element": "int8", "softmax": "published"}, 'in int8 needs softmax "safe", not'),
        ({"lengths": []}, "needs a list of integer lengths of at least 0"),
        ({"lengths": [1.5]}, r"needs a list of integer lengths of at least 0, not \[1.5\]"),
        ({"lengths": [True]}, "needs a list of integer lengths of at least 0"),
        ({"lengths": [2**70]}, "needs a list of integer lengths of at least 0"),
        ({"batch": 0}, "needs at least 1 request"),
        ({"mean": float("nan")}, "lengths of a finite mean and standard deviation, not 8, nan"),
        ({"stdev": float("inf")}, "lengths of a finite mean and standard deviation, not 8"),
        ({"lengths": [3, -1]}, "needs a list of integer lengths of at least 0"),
        ({"tile": 0}, "needs cache tiles of at least 1 row, not 0"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.StepError, match=sentence):
        example("attention").attention(**settings)
