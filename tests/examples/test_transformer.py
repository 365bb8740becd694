"""Layers of a small transformer, for a token and for a chunk, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example
from semantics import models

import stepgen as sg
from stepgen.semantics.executor import run

HEADS, HEAD, EXPERTS, TOP, INNER, CACHE = 2, 8, 4, 2, 16, 16
WIDTH = HEADS * HEAD


def normalised(x: Any) -> Any:
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def turned(x: Any, position: int) -> Any:
    """Pairs of neighbouring columns as complex numbers, turned by angles of the position."""
    slower = 10_000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    pairs = np.ascontiguousarray(x).view(complex) * np.exp(1j * position * slower)
    return pairs.view(float)


def reference(inputs: dict[str, Any], layer: int, before: int) -> tuple[Any, Any, Any]:
    """Token by token: the results, and the layer's caches."""
    w = {name: np.asarray(value).astype(float) for name, value in inputs.items()}
    qkv = w["qkv"].reshape(-1, 3, HEADS, HEAD, WIDTH)[layer]
    router = w["router"].reshape(-1, EXPERTS, WIDTH)[layer]
    gate_up = w["gate_up"].reshape(-1, EXPERTS, 2, INNER, WIDTH)[layer]
    down = w["down"].reshape(-1, EXPERTS, WIDTH, INNER)[layer]
    keys, values = (w[n].reshape(-1, HEADS, CACHE, HEAD)[layer] for n in ("keys", "values"))
    results = []
    for position, x in enumerate(w["x"][0], before):
        q, k, v = qkv @ normalised(x)
        keys[:, position], values[:, position] = turned(k, position), v
        heads = [
            softmax(keys[h, : position + 1] @ one / HEAD**0.5) @ values[h, : position + 1]
            for h, one in enumerate(turned(q, position))
        ]
        x = x + w["out"].reshape(-1, WIDTH, WIDTH)[layer] @ np.concatenate(heads)
        token = normalised(x)
        logits = router @ token
        chosen = np.sort(np.argsort(-logits)[:TOP])
        for share, e in zip(softmax(logits[chosen]), chosen, strict=True):
            gate, up = gate_up[e] @ token
            x = x + share * (down[e] @ (gate / (1 + np.exp(-gate)) * up))
        results.append(x)
    return np.array(results), keys, values


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "tokens"), [("decode", 1), ("prefill", 4)])
def test_it_is_a_layer(name: str, tokens: int, seed: int) -> None:
    chunk, layer = (CACHE // tokens - 1, 0, 1)[seed], seed % 2
    at = {"position": chunk} if tokens == 1 else {"chunk": chunk}
    graph, inputs = getattr(example("transformer"), name)(layer=layer, seed=seed, **at)
    before = chunk * tokens
    for cache in ("keys", "values"):  # rows that nobody wrote
        inputs[cache].reshape(-1, CACHE, HEAD)[:, before:] = np.nan
    result = run(graph, inputs)
    for cache in ("keys", "values"):  # no more rows than there are
        read = [*models.leaves(result.nested(graph.node(f"{cache}_read").outputs[0].name), 3)]
        assert len(read) == HEADS * (before + tokens)
    expected, *caches = reference(inputs, layer, before)
    found = np.array(result.nested("y"), float).reshape(tokens, WIDTH)
    np.testing.assert_allclose(found, expected, atol=0.05, rtol=0.05)
    for cache, rows in zip(("keys", "values"), caches, strict=True):
        stored = result.tensors[cache].astype(float).reshape(-1, HEADS, CACHE, HEAD)[layer]
        np.testing.assert_allclose(stored, rows, atol=0.05, rtol=0.05)


def test_a_token_follows_a_prompt_on_its_memory() -> None:
    """A prompt of five tokens in a chunk and a step is that of five steps."""
    module = example("transformer")
    rng = np.random.default_rng(3)
    x = rng.standard_normal((5, WIDTH)).astype(np.float32)
    caches: list[dict[str, Any]] = [{}, {}]
    outputs: list[list[Any]] = [[], []]
    for way, sizes in enumerate(([4, 1], [1] * 5)):
        done = 0
        for size in sizes:
            at = {"chunk": done // 4} if size == 4 else {"position": done}
            graph, inputs = (module.prefill if size == 4 else module.decode)(**at)
            result = run(graph, inputs | caches[way] | {"x": x[done : done + size][None]})
            caches[way] = {name: result.tensors[name] for name in ("keys", "values")}
            outputs[way] += list(np.array(result.nested("y"), float).reshape(size, WIDTH))
            done += size
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-5)


def test_places_that_do_not_exist() -> None:
    module = example("transformer")
    with pytest.raises(sg.StepError, match="decode has positions 0 to 15, not 16"):
        module.decode(position=16)
    with pytest.raises(sg.StepError, match="prefill has chunks 0 to 3, not 4"):
        module.prefill(chunk=4)
    with pytest.raises(sg.StepError, match="prefill needs chunks that fill a cache of 16, not"):
        module.prefill(tokens=5)
    with pytest.raises(sg.StepError, match="decode has layers 0 to 1, not 2"):
        module.decode(layer=2)
