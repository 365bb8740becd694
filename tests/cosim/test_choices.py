"""Masks and choices as users write them, as Verilog, under stalls, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.ir.stalls import Stalls

ROWS = 6


def scores(rng: np.random.Generator, *size: int) -> Any:
    """Numbers, among them NaN as memory that nobody wrote may hold."""
    made = rng.normal(size=size).astype(np.float32)
    return np.where(rng.random(size) < 0.2, np.nan, made)


def safe_softmax(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph, inputs = example("recipes").safe_softmax(ROWS)
    valid = np.array(inputs["valid"]).reshape(-1, 1, 1)
    shown = np.arange(8) < valid
    x = np.where(shown, rng.normal(size=(ROWS, 2, 8)), scores(rng, ROWS, 2, 8)).astype(np.float32)
    masked = np.where(shown, x, -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.where(shown, np.exp(masked - masked.max(axis=2, keepdims=True)), 0)
    return graph, {**inputs, "scores": x}, e / np.maximum(e.sum(axis=2, keepdims=True), 1)


def cache_window(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph, inputs = example("recipes").cache_window(ROWS, 3)
    x, at = scores(rng, ROWS, 2, 8), np.array(inputs["position"]).reshape(-1, 1, 1)
    behind = at - np.arange(8)
    return graph, {**inputs, "scores": x}, np.where((behind >= 0) & (behind < 3), x, -np.inf)


def masked_mean(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph, inputs = example("recipes").masked_mean(ROWS)
    valid = np.array(inputs["valid"]).reshape(-1, 1, 1)
    kept = np.arange(4)[:, None] < valid
    x = np.where(kept, rng.normal(size=(ROWS, 4, 8)), np.nan).astype(np.float32)
    total = np.where(kept, x, 0).sum(axis=1, keepdims=True)
    return graph, {**inputs, "x": x}, total / np.maximum(valid, 1)


def kept_by_flags(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph = example("recipes").kept_by_flags(ROWS)
    x, least = scores(rng, ROWS, 2, 8), rng.normal(size=(ROWS, 1, 1)).astype(np.float32)
    with np.errstate(invalid="ignore"):
        return graph, {"x": x, "least": least}, np.where(x >= least, x, 0)


def experts_that_are_free(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Tokens go to the experts that their scores name and that are free; the sums of both ways."""
    g = sg.Graph("free")
    x = g.input("x", sg.int8[1, 5], (ROWS,))
    free = g.input("free", sg.Selector(4), (ROWS,))
    chosen = g.input("scores", sg.f32[1, 4], (ROWS,)).map(sg.fn.top_k(2))
    granted = chosen.map(sg.fn.logical_and(), free)
    g.output(granted, "granted")
    parts = sg.partition(x.fifo(20), granted.fifo(20), rank=0)
    merged = sg.reassemble([p.fifo(20) for p in parts], granted.fifo(20), rank=0)
    g.output(merged.accum(sg.fn.add(), rank=1), "y")
    inputs = {
        "x": rng.integers(-20, 20, (ROWS, 1, 5)),
        "free": rng.random((ROWS, 4)) < 0.6,
        "scores": rng.permuted(np.tile(np.arange(4.0), (ROWS, 1)), axis=1).reshape(ROWS, 1, 4),
    }
    named = inputs["free"] & (inputs["scores"][:, 0] >= 2)
    return g, inputs, inputs["x"] * named.sum(axis=1)[:, None, None]


def expert_of_layer(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph, inputs = example("recipes").expert_of_layer(ROWS, seed=int(rng.integers(99)))
    x = rng.normal(size=(ROWS, 1, 4)).astype(np.float32)
    tiles = rng.integers(-128, 128, (24, 8)).astype(np.int8)
    numbers = 4 * np.ravel(inputs["layer"]) + x.argmax(-1).ravel()
    return graph, {**inputs, "scores": x, "tiles": tiles}, tiles.reshape(12, 2, 8)[numbers]


def next_token(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    graph = example("recipes").next_token(ROWS)
    x = rng.integers(-3, 4, (ROWS, 3, 1, 8)).astype(np.float32)
    return graph, {"logits": x}, x.reshape(ROWS, -1).argmax(-1).reshape(ROWS, 1, 1)


SNIPPETS = (
    *(safe_softmax, cache_window, masked_mean, kept_by_flags, experts_that_are_free),
    *(expert_of_layer, next_token),
)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda one: one.__name__)
def test_snippets(snippet: Any, lanes: int, tmp_path: Path) -> None:
    runs = []
    for seed, share in enumerate((0, 0.4, 0.8)):
        graph, inputs, due = snippet(np.random.default_rng(seed))
        stalls = Stalls(seed, dict.fromkeys((*inputs, "y"), share))
        runs.append(Experiment(graph, inputs, lanes=lanes, stalls=stalls))
        found = np.array(runs[-1].reference.nested("y")).astype(float)
        np.testing.assert_allclose(found, due.astype(float), rtol=1e-5, atol=1e-6)
    built = runs[0].design
    runs = [Experiment(r.graph, r.inputs, lanes=lanes, stalls=r.stalls, built=built) for r in runs]
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda one: one.__name__)
def test_snippets_in_the_reference(snippet: Any) -> None:
    graph, inputs, due = snippet(np.random.default_rng(9))
    found = np.array(Experiment(graph, inputs).reference.nested("y")).astype(float)
    np.testing.assert_allclose(found, due.astype(float), rtol=1e-5, atol=1e-6)
