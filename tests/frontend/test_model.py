"""The tensor graph: its meaning, equality, files, and loops of layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontend.decoders import VOCABULARY, Sizes, decoder, drawn, integers, logits
from stepgen.frontend import Builder, Model, State, load, quantize, save
from stepgen.frontend.kind import kinds
from stepgen.frontend.passes.dead import drop_dead
from stepgen.ir.errors import StepError
from stepgen.ir.fn import fn

SEEDS = range(12)


def ids(seed: int, count: int = 20) -> Any:
    return np.random.default_rng(seed).integers(0, VOCABULARY, count)


def simple(model: Model, tokens: Any) -> Any:
    """The decoder of the sizes by default, written once more without any of the package."""
    w = {name: weight.array.astype(np.float64) for name, weight in model.weights.items()}
    x, s = w["table"][tokens], Sizes()

    def norm(x: Any, weight: Any) -> Any:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight

    def turned(x: Any, t: int) -> Any:
        z = (x[: s.each // 2] + 1j * x[s.each // 2 :]) * np.exp(1j * t * w["frequencies"])
        return np.concatenate([z.real, z.imag])

    for i in range(s.layers):
        p = "model.layers.*."
        h = norm(x, w[p + "first_norm.weight"][i])
        q, k, v = (h @ w[f"{p}linear{n}.weight"][i] for n in ("", "_1", "_2"))
        made = np.zeros_like(q)
        for t in range(len(tokens)):
            for head in range(s.heads):
                own = slice(head * s.each, (head + 1) * s.each)
                group = head // (s.heads // s.groups)
                its = slice(group * s.each, (group + 1) * s.each)
                query = turned(q[t, own], t)
                scores = np.exp([query @ turned(k[u, its], u) / s.each**0.5 for u in range(t + 1)])
                made[t, own] = (scores / scores.sum()) @ v[: t + 1, its]
        x = x + made @ w[p + "out.weight"][i]
        h = norm(x, w[p + "second_norm.weight"][i]) @ w[p + "up.weight"][i] + w[p + "up.bias"][i]
        x = x + (h / (1 + np.exp(-h))) @ w[p + "down.weight"][i]
    return norm(x, w["last_norm.weight"]) @ w["logits.weight"].T


def test_a_decoder_computes_what_plain_numpy_does() -> None:
    model, tokens = decoder(Sizes()), ids(0, 9)
    assert np.allclose(logits(model, tokens), simple(model, tokens), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_run_equals_many_on_the_same_caches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, tokens = decoder(drawn(rng), seed), ids(seed)
    cuts = tuple(sorted({int(n) for n in rng.integers(1, 20, 4)}))
    want = logits(model, tokens)
    for ends in (cuts, (7, *range(8, 20))):
        assert np.allclose(logits(model, tokens, cuts=ends), want, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_layers_become_a_loop_that_computes_the_same(seed: int) -> None:
    sizes = drawn(np.random.default_rng(seed))
    flat, folded = decoder(sizes, seed, fold=False), decoder(sizes, seed)
    assert np.array_equal(logits(flat, ids(seed)), logits(folded, ids(seed)))
    loops = [loop for op in folded.ops if (loop := op.kind.loop())]
    assert [loop.trips for loop in loops] == ([sizes.layers] if sizes.layers > 1 else [])
    assert drop_dead(flat).parameters == folded.parameters


@pytest.mark.parametrize(
    ("kinds_of_layers", "trips"),
    [
        ("aaaa", [4]),
        ("ababab", [3]),
        ("aabb", [2, 2]),
        ("abcbcbc", [3]),
        ("aaab", [3]),
        ("abc", []),
        ("aabaab", [2]),
    ],
)
def test_loops_of_layers_that_differ(kinds_of_layers: str, trips: list[int]) -> None:
    b, rng = Builder("m"), np.random.default_rng(0)
    x = start = b.input("x", 6)
    for i, kind in enumerate(kinds_of_layers):
        with b.scope(f"h.{i}"):
            y = b.linear(x, rng.normal(size=(6, 6 + ord(kind))), name="up")
            x = x + b.linear(b.map(fn.tanh(), y), rng.normal(size=(6 + ord(kind), 6)), name="down")
    y = b.map(fn.add(), x, start)
    folded, flat = b.model(y), b.model(y, fold=False)
    assert [loop.trips for op in folded.ops if (loop := op.kind.loop())] == trips
    rows = {"x": rng.normal(size=(5, 6))}
    got, want = (m.run(rows)[m.outputs[0]] for m in (folded, flat))
    assert np.array_equal(got, want)


def test_a_layer_whose_values_are_read_later_stays_apart() -> None:
    b = Builder("m")
    x, seen = b.input("x", 4), []
    for i in range(3):
        with b.scope(f"h.{i}"):
            x = b.linear(x, np.eye(4) * (i + 2))
            seen.append(x)
    assert [op.name for op in b.model(x).ops] == ["h"]
    assert [op.name for op in b.model(x, seen[0]).ops] == ["h.0.linear", "h.1"]
    assert len(b.model(x, seen[1]).ops) == 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("element", [np.float32, "bfloat16"])
def test_a_file_gives_an_equal_model(seed: int, element: Any, tmp_path: Path) -> None:
    model = decoder(drawn(np.random.default_rng(seed)), seed, element=element)
    save(model, tmp_path / "m.stepgen")
    again = load(tmp_path / "m.stepgen")
    assert again == model
    assert str(again) == str(model)
    assert np.array_equal(logits(again, ids(seed)), logits(model, ids(seed)))


def test_models_differ_in_any_part() -> None:
    model = decoder(Sizes())
    other = decoder(Sizes(), seed=1)
    assert model != other
    assert model == decoder(Sizes())
    assert model != replace(model, tokens=(1, 41))
    assert model != decoder(Sizes(hidden=13))
    assert model.__eq__(3) is NotImplemented


def test_a_model_is_printed_with_its_operations() -> None:
    model = decoder(Sizes(layers=2))
    lines = str(model).splitlines()
    assert lines[0].startswith("model decoder: T 1 to 40, ")
    assert any(line.split()[:2] == ["model.layers", "f32[T,"] for line in lines)
    assert "linear" in model._repr_html_()
    assert model._repr_html_().count("<tr>") == len(lines) - 1


def test_every_kind_is_in_some_test() -> None:
    used = set()
    for seed in SEEDS:
        sizes = drawn(np.random.default_rng(seed))
        used |= {placed.op.kind.name for placed in decoder(sizes, seed).placed}
    for experts in (0, 3):
        model = integers(decoder(Sizes(experts=experts)))
        used |= {placed.op.kind.name for placed in model.placed}
    for scales in ("columns", "powers"):
        narrow = quantize(decoder(Sizes(experts=3)), scheme="w8", scales=scales)
        used |= {placed.op.kind.name for placed in narrow.placed}
    assert used == kinds().keys()


def test_a_state_is_full() -> None:
    model, state = decoder(Sizes()), State(capacity=8)
    model.run({"ids": ids(0, 6)}, state)
    with pytest.raises(StepError, match=r"hold 8 tokens, 6 are .* 3 more do not fit; .* 9 w"):
        model.run({"ids": ids(0, 3)}, state)
    model.run({"ids": ids(0, 2)}, state)
    assert state.rows == 8


def test_weights_are_read_when_they_are_needed(tmp_path: Path) -> None:
    save(decoder(Sizes()), tmp_path / "m.stepgen")
    model = load(tmp_path / "m.stepgen")
    assert str(model)
    assert not any("array" in vars(weight) for weight in model.weights.values())
