"""Programs of models against their golden meaning, and circuits against both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import one_seed_each

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.frontend import Builder, Model, lower
from stepgen.frontend.drawing import drawn
from stepgen.frontend.lowering import fed
from stepgen.ir.errors import StepError
from stepgen.semantics import system

WITHIN = {"f32": 2e-6, "bf16": 0.03}
"""Largest difference, as a part of the largest output."""


def perceptron(seed: int, width: int = 8, inner: int = 12) -> Model:
    """Two linears with biases around a ReLU."""
    rng = np.random.default_rng(seed)
    b = Builder("perceptron", tokens=(1, 16))
    up = b.linear(b.input("x", width), rng.normal(size=(width, inner)), rng.normal(size=inner))
    down, bias = rng.normal(size=(width, inner)), rng.normal(size=width)
    return b.model(b.linear(b.map(sg.fn.at_least(0), up), down, bias, transposed=True))


def gated(seed: int, width: int = 8, inner: int = 12) -> Model:
    """A gated layer behind a norm, with its input added."""
    rng = np.random.default_rng(seed)
    b = Builder("gated", tokens=(1, 16))
    x = b.input("x", width)
    h = b.norm(x, rng.normal(size=width), rng.normal(size=width), how="layer")
    both = b.linear(h, rng.normal(size=(width, 2 * inner)))
    gate = b.map(sg.fn.silu(), b.split(both, 0, inner))
    return b.model(
        x + b.linear(gate * b.split(both, inner, inner), rng.normal(size=(inner, width)))
    )


def words(seed: int, width: int = 8, count: int = 20) -> Model:
    """Embeddings of words and of positions, an RMSNorm that two values read, a head."""
    rng = np.random.default_rng(seed)
    b = Builder("words", tokens=(1, 16))
    x = b.embedding(b.ids(), table := rng.normal(size=(count, width)))
    x = x + b.embedding(b.positions(), rng.normal(size=(16, width)))
    h = b.norm(x, rng.normal(size=width))
    return b.model(b.linear(h + x, table, transposed=True))


def layers(seed: int, width: int = 8, inner: int = 12) -> Model:
    """A loop of three layers with a shared norm, a value from outside, which is read behind too."""
    rng = np.random.default_rng(seed)
    b = Builder("layers", tokens=(1, 16))
    x = b.input("x", width)
    bias, scale = b.map(sg.fn.silu(), x), b.weight("scale", rng.normal(size=width))
    for layer in range(3):
        with b.scope(f"layers.{layer}"):
            h = b.norm(x, scale, how="layer")
            h = b.linear(h, rng.normal(size=(width, inner)), rng.normal(size=inner), name="up")
            down = rng.normal(size=(inner, width)) / inner
            x = x + b.linear(b.map(sg.fn.silu(), h), down, rng.normal(size=width), name="down")
            x = x + bias
    return b.model(b.norm(x + bias, rng.normal(size=width)))


def mixture(seed: int, *, normalise: bool = True, experts: int = 5, top: int = 2) -> Model:
    """A mixture of experts behind a norm, with its input added."""
    rng = np.random.default_rng(seed)
    width, hidden = 2 * int(rng.integers(2, 5)), 3 * int(rng.integers(1, 5))
    b = Builder("mixture", tokens=(1, 16))
    x = b.input("x", width)
    h = b.norm(x, 1 + rng.random(width))
    sizes = ((width, experts), *[(experts, width, hidden)] * 2, (experts, hidden, width))
    weights = [rng.normal(size=size) for size in sizes]
    return b.model(x + b.experts(h, *weights, top=top, normalise=normalise))


def mixtures(seed: int) -> Model:
    """A loop of layers with mixtures of experts, whose shares are not normalised."""
    rng = np.random.default_rng(seed)
    width, hidden, experts = 8, 12, 3
    b = Builder("mixtures", tokens=(1, 16))
    x = b.input("x", width)
    for layer in range(3):
        with b.scope(f"layers.{layer}"):
            sizes = ((width, experts), *[(experts, width, hidden)] * 2, (experts, hidden, width))
            weights = [rng.normal(size=size) / 2 for size in sizes]
            h = b.norm(x, 1 + rng.random(width))
            x = x + b.experts(h, *weights, top=2, normalise=False)
    return b.model(b.norm(x))


def parts(seed: int) -> Model:
    """Columns of a row that two read, heads with a norm each, turned by halves that one reads."""
    rng = np.random.default_rng(seed)
    b = Builder("parts", tokens=(1, 16))
    x, positions = b.input("x", 16), b.positions()
    first, both = b.split(x, 2, 8), b.linear(x, rng.normal(size=(16, 16)))
    h = b.norm(b.heads(both, 4), rng.normal(size=4), rng.normal(size=4))
    turned = b.rope(h, positions, rng.uniform(0, 2, 2), factor=1.5)
    near = b.rope(b.heads(first, 8), positions, rng.uniform(0, 2, 4), pairs="neighbours")
    joined = b.linear(b.join(turned + h), rng.normal(size=(16, 4)))
    some = b.map(sg.fn.add(), joined, b.split(b.join(near), 4, 4), name="some")
    return b.model(some, b.split(both, 0, 16, name="whole"))


MODELS = [layers, perceptron, gated, words, mixture, mixtures, parts]


def close(model: Model, given: dict[str, Any], nested: Any, element: str) -> bool:
    """Whether each output is that of the golden model, up to rounding."""
    for name, golden in model.run(given).items():
        found = np.array(nested(name)).reshape(golden.shape)
        if abs(found - golden).max() > WITHIN[element] * abs(golden).max():
            return False
    return True


@pytest.mark.parametrize(
    ("sides", "tokens", "element", "build"),
    one_seed_each([(1, 64), (1, 4), (3, 4)], (1, 7), ("f32", "bf16"), MODELS),
)
def test_a_program_computes_what_its_model_does(build, element, sides, tokens) -> None:
    rows, columns = sides
    model = build(tokens)
    given = drawn(model, {}, tokens, tokens)
    graph, weights = lower(model, element=element, rows=rows, columns=columns)
    found = system.run(graph, {**weights, **fed(model, given)})
    assert close(model, given, found.nested, element)


@pytest.mark.parametrize("element", ["f32", "bf16"])
@pytest.mark.parametrize("seed", range(8))
def test_mixtures_of_drawn_sizes(seed: int, element: str) -> None:
    """Also with one expert, with all of them, and shares that are those of all."""
    rng = np.random.default_rng(seed)
    experts = int(rng.integers(1, 7))
    top, normalise = int(rng.integers(1, experts + 1)), bool(rng.integers(2))
    model = mixture(seed, normalise=normalise, experts=experts, top=top)
    given = drawn(model, {}, seed, int(rng.integers(1, 6)))
    rows, columns = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    graph, weights = lower(model, element=element, rows=rows, columns=columns)
    found = system.run(graph, {**weights, **fed(model, given)})
    assert close(model, given, found.nested, element)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "rows"),
    [
        (perceptron, 1),
        (gated, 3),
        (mixture, 1),
        (mixtures, 1),
        (layers, 1),
        (layers, 3),
        (words, 1),
        (words, 3),
    ],
)
def test_a_circuit_computes_what_its_program_does(build, rows, tmp_path: Path) -> None:
    model = build(0)
    given = drawn(model, {}, 0, 4)
    graph, weights = lower(model, rows=rows, columns=4)
    one = Experiment(graph, {**weights, **fed(model, given)}, lanes=2)
    assert close(model, given, one.reference.nested, "bf16")
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_a_layer_without_a_lowering_is_named() -> None:
    b = Builder("one", tokens=(1, 4))
    heads = b.heads(b.input("x", 8), 4)
    with b.scope("layers.3"):
        made = b.attention(heads, heads, heads, scale=1, causal=False, name="some")
    line = r"attention layers.3.some at test_lowering.py:\d+: attention to tokens to come can't be "
    with pytest.raises(StepError, match=line):
        lower(b.model(made))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"element": sg.int8}, "perceptron can be lowered to bf16 or f32, not to int8"),
        ({"rows": 0}, "perceptron: rows must be an integer of at least 1, not 0"),
        (
            {"phase": "fill"},
            "perceptron: phase must be stream, decode, prefill or write, not 'fill'",
        ),
        ({"cache": 8}, "perceptron: cache, tile and batch are for phase=decode and phase=prefill"),
        ({"last": True}, "perceptron: last is for phase=prefill, whose runs take many tokens"),
        (
            {"phase": "prefill", "rows": 6, "tile": 8},
            "tiles of 8 rows of a cache are not whole chunks of 6 tokens: make rows 2, or tile 12",
        ),
        ({"columns": 2.5}, "perceptron: columns must be an integer of at least 1, not 2.5"),
    ],
)
def test_bad_parameters_are_one_sentence(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(StepError, match=sentence):
        lower(perceptron(0), **more)
