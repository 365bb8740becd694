"""The decoder layer against numpy, and at full size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example, gate_of
from seeds import some_slow
from work import worked

import stepgen as sg
from stepgen.semantics.executor import run
from stepgen.semantics.shapes import measure

LENGTHS = [5, 0, 3, 8]
HEADS, GROUP, HEAD, TILE = 2, 2, 16, 4


def normalised(x: Any) -> Any:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)


def turned(x: Any, position: int) -> Any:
    """Pairs of neighbouring columns as complex numbers, turned by angles of the position."""
    slower = 10_000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    pairs = np.ascontiguousarray(x).view(complex) * np.exp(1j * position * slower)
    return pairs.view(float)


def reference(
    inputs: dict[str, Any], kv_heads: int, softmax: str, norm: bool, rope: bool = True
) -> Any:
    """Plain numpy, request by request and token by token."""
    turn = turned if rope else lambda x, position: x
    w = {name: np.asarray(value).astype(float) for name, value in inputs.items()}
    total, tokens = w["x"].copy(), normalised(w["x"]) if norm else w["x"]
    for h in range(kv_heads):
        for request, length in enumerate(LENGTHS):
            keys, values = (
                w[f"{n}{h}"].reshape(len(LENGTHS), -1, HEAD)[request] for n in ("keys", "values")
            )
            keys[length], values[length] = (
                turn(tokens[request] @ w[f"k{h}"], length),
                tokens[request] @ w[f"v{h}"],
            )
            count = length + 1 if softmax == "safe" else (length // TILE + 1) * TILE
            queries = turn((tokens[request] @ w[f"q{h}"]).reshape(GROUP, HEAD), length)
            scores = queries @ keys[:count].T * (HEAD**-0.5 if softmax == "safe" else 1)
            weights = np.exp(scores)
            attended = weights / weights.sum(axis=1, keepdims=True) @ values[:count]
            total[request] += attended.ravel() @ w[f"o{h}"]
    tokens = normalised(total) if norm else total.copy()
    if "router" in w:
        w |= gate_of(tokens @ w["router"])
    for token, chosen in enumerate(w["route"]):
        for place, e in enumerate(np.flatnonzero(chosen)):
            gated = tokens[token] @ w[f"gate{e}"]
            hidden = gated / (1 + np.exp(-gated)) * (tokens[token] @ w[f"up{e}"])
            total[token] += w["scores"][token, place] * (hidden @ w[f"down{e}"])
    return total


@pytest.mark.parametrize(
    ("kv_heads", "softmax", "tiling", "norm", "rope", "gate"),
    [
        (2, "safe", "dynamic", True, True, "input"),
        (1, "published", "static", False, False, "input"),
        (1, "safe", "dynamic", True, True, "top_k"),
    ],
)
def test_it_is_a_decoder_layer(
    kv_heads: int, softmax: str, tiling: str, norm: bool, rope: bool, gate: str
) -> None:
    graph, inputs = example("decoder").decoder(
        lengths=LENGTHS,
        kv_heads=kv_heads,
        cache_tile=TILE,
        softmax=softmax,
        norm=norm,
        tiling=tiling,
        tile=3,
        seed=4,
        rope=rope,
        gate=gate,
    )
    graph.check()
    result = run(graph, inputs)
    measure(graph, result)
    expected = reference(inputs, kv_heads, softmax, norm, rope)
    np.testing.assert_allclose(result.tensors["y"], expected, atol=0.05, rtol=0.05)
    key = result.tensors["keys0"].astype(float).reshape(len(LENGTHS), -1, HEAD)[0, LENGTHS[0]]
    tokens = np.asarray(inputs["x"]).astype(float)
    tokens = normalised(tokens) if norm else tokens
    expected = tokens[0] @ inputs["k0"].astype(float)
    expected = turned(expected, LENGTHS[0]) if rope else expected
    np.testing.assert_allclose(key, expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize(
    ("model", "heads", "kv"), some_slow([("mixtral", 32, 8), ("qwen", 32, 4)], 1)
)
def test_full_layers_are_built_with_little_work(model: str, heads: int, kv: int) -> None:
    lengths = np.array([1063, 17, 31, 4000])
    build = example("decoder").decoder
    build(model, lengths, data=False)
    (graph, inputs), calls = worked(lambda: build(model, lengths, data=False))
    assert calls < 1_500_000
    assert set(inputs) == {"route", "span", "place", "filled", "position"}
    width = graph.tensors["x"].shape[1]
    projections = [graph.tensors[f"{n}{h}"].shape for n in "qkvo" for h in range(kv)]
    assert sum(a * b for a, b in projections) == 2 * width * 128 * (heads + kv)


def test_a_model_has_only_so_many_heads() -> None:
    with pytest.raises(sg.StepError, match="decoder has 1 to 2 key-value heads, not 3"):
        example("decoder").decoder(kv_heads=3)
    with pytest.raises(sg.StepError, match="decoder needs tiling"):
        example("decoder").decoder(tiling="no")
    with pytest.raises(sg.StepError, match='decoder needs gate "input" or "top_k", not 3'):
        example("decoder").decoder(gate=3)
    with pytest.raises(sg.StepError, match="chooses the experts itself: give no routing"):
        example("decoder").decoder(gate="top_k", routing=np.zeros((8, 2), int))
