"""The mixture of SwiGLU experts against numpy, and at full size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example, gate_of
from work import worked

import stepgen as sg
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure

SIZES = {"experts": 4, "top": 2, "width": 16, "inner": 32, "columns": 8}


def reference(inputs: dict[str, Any], experts: int) -> Any:
    """Token by token: each of its experts in turn, weighted with its score."""
    tensors = {n: np.asarray(v).astype(np.float64) for n, v in inputs.items()}
    if "router" in tensors:
        tensors |= gate_of(tensors["x"] @ tensors["router"])
    y = np.zeros_like(tensors["x"])
    for token, chosen in enumerate(tensors["route"]):
        for place, e in enumerate(np.flatnonzero(chosen)):
            gated = tensors["x"][token] @ tensors[f"gate{e}"]
            hidden = gated / (1 + np.exp(-gated)) * (tensors["x"][token] @ tensors[f"up{e}"])
            y[token] += tensors["scores"][token, place] * (hidden @ tensors[f"down{e}"])
    return y


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gate", ["input", "top_k"])
def test_drawn_routings(tiling: str, seed: int, gate: str) -> None:
    graph, inputs = example("moe_swiglu").moe_swiglu(
        **SIZES, tokens=11, tiling=tiling, tile=3, seed=seed, gate=gate
    )
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    np.testing.assert_allclose(result.tensors["y"], reference(inputs, 4), atol=0.03, rtol=0.03)


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
@pytest.mark.parametrize(
    "routing", [[[0, 1]], [[3, 2]] * 7], ids=["one token", "two experts without tokens"]
)
def test_given_routings(tiling: str, routing: list[list[int]]) -> None:
    chosen = np.array(routing)
    graph, inputs = example("moe_swiglu").moe_swiglu(
        **SIZES, tokens=len(chosen), tiling=tiling, tile=3, routing=chosen
    )
    result = run(graph, inputs)
    np.testing.assert_allclose(result.tensors["y"], reference(inputs, 4), atol=0.03, rtol=0.03)


def test_the_gate_repeats_a_routing() -> None:
    """Which is what a benchmark with a trace needs: the gate's weights are fitted to it."""
    routing = np.array([[0, 1]] * 9 + [[0, 3]] * 5 + [[1, 3]] * 2)
    moe = example("moe_swiglu")
    _, inputs = moe.moe_swiglu(
        None, 4, 2, 16, 8, tokens=16, columns=8, routing=routing, gate="top_k"
    )
    assert "route" not in inputs
    assert "scores" not in inputs
    products = inputs["x"].astype(float) @ inputs["router"].astype(float)
    assert (gate_of(products)["route"] == moe.selectors(routing, 4)).all()


@pytest.mark.slow
def test_the_full_qwen_layer_is_built_with_little_work() -> None:
    build = example("moe_swiglu").moe_swiglu
    build("qwen", data=False)  # SymPy keeps what it has computed once
    (graph, inputs), calls = worked(lambda: build("qwen", data=False))
    assert calls < 1_500_000
    assert set(inputs) == {"route"}
    counts = sg.selector_counts(graph, "route", inputs["route"])
    active = sum(n > 0 for n in counts.values())
    assert 40 < active < 90
    moved = sg.metrics(graph, "published").evaluate(counts).traffic
    assert moved == 6 * 2048 * 768 * active + 2 * 64 * 2048 + 2 * 64 * 8 + 4 * 64 * 2048


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model": "gpt"}, "there is no model 'gpt', those are mixtral, qwen"),
        ({"top": 5}, "no more experts per token than there are, not experts=4, top=5, "),
        ({"tiling": "both"}, 'needs tiling "static" or "dynamic", not \'both\''),
        ({"gate": "softmax"}, 'moe_swiglu needs gate "input" or "top_k", not \'softmax\''),
        ({"columns": 48}, "an inner width divisible by columns, not 128 by 48"),
        (
            {"routing": np.zeros((2, 2), int)},
            "needs a routing of 64 tokens to 2 experts each, not of",
        ),
        ({"routing": np.full((64, 2), 4)}, "it sends token 0 to expert 4, of the experts 0 to 3"),
    ],
)
def test_settings_that_do_not_fit(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.StepError, match=sentence):
        example("moe_swiglu").moe_swiglu(data=False, **settings)
