"""The MoE example against a mixture of experts in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepgen as sg
from examples.moe import SHIFT, moe
from semantics.programs import execute
from stepgen.ir.metrics import metrics
from stepgen.semantics.executor import run
from stepgen.semantics.inputs import multi_hot
from stepgen.semantics.shapes import measure


def plain_moe(x: Any, weights: list[Any], chosen: list[list[int]]) -> Any:
    """One row of the result for each token and chosen expert, experts in increasing order."""
    rows = []
    for token, experts in zip(x, chosen, strict=True):
        for expert in sorted(experts):
            exact = token.astype(np.int64) @ weights[expert].astype(np.int64)
            rows.append(np.clip(np.rint(exact / 2**SHIFT), -128, 127))
    return np.array(rows).reshape(len(rows), -1)


def layer(
    seed: int, chosen: list[list[int]], experts: int, **settings: Any
) -> tuple[sg.Graph, dict[str, Any], Any]:
    """The program, its inputs and the expected rows."""
    rng = np.random.default_rng(seed)
    width, hidden = 8, 16
    top = max(map(len, chosen), default=1) or 1
    g, _ = moe(len(chosen), experts, top, width, hidden, columns=4, **settings)
    x = rng.integers(-128, 128, (len(chosen), width)).astype(np.int8)
    weights = [rng.integers(-128, 128, (width, hidden)).astype(np.int8) for _ in range(experts)]
    inputs = {f"w{i}": w for i, w in enumerate(weights)}
    inputs |= {"x": x, "route": multi_hot(chosen, experts)}
    return g, inputs, plain_moe(x, weights, chosen)


def check(g: sg.Graph, inputs: dict[str, Any], expected: Any) -> None:
    y = execute(g, inputs, lanes=4).tensors["y"]
    assert (y[: len(expected)] == expected).all()
    assert not y[len(expected) :].any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("settings", [{"tiling": "static", "tile": 3}, {"tiling": "dynamic"}])
def test_drawn_routings(settings: dict[str, Any], seed: int) -> None:
    """Tokens without experts, experts without tokens, crowded experts."""
    rng = np.random.default_rng(seed)
    experts = 5
    chosen = [
        rng.choice(experts, rng.integers(0, 4), replace=False, p=np.array([6, 3, 1, 1, 0.1]) / 11.1)
        for _ in range(rng.integers(1, 12))
    ]
    check(*layer(seed, [sorted(map(int, c)) for c in chosen], experts, **settings))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("settings", [{"tiling": "static", "tile": 4}, {"tiling": "dynamic"}])
def test_one_expert_with_a_chosen_number_of_tokens(settings: dict[str, Any], count: int) -> None:
    """Around the length of a chunk, beside an expert without any tokens."""
    chosen = [[0] if i < count else [1] for i in range(9)]
    check(*layer(count, chosen, 3, **settings))


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_traffic_of_a_run_is_what_the_metrics_say(tiling: str) -> None:
    chosen = [[0, 1], [0, 1], [0], [0], [0], []]
    g, inputs, _ = layer(0, chosen, 3, tiling=tiling, tile=2)
    result = run(g, inputs)
    symbols = measure(g, result)
    reads = 3 + 1 if tiling == "static" else 2
    expected = 6 * 8 + 7 * 16 + reads * 8 * 16
    assert metrics(g).traffic.subs(symbols) == expected


def test_qwen_takes_no_time() -> None:
    """128 experts, top 8 of a skewed routing."""
    rng = np.random.default_rng(1)
    weights = np.exp(rng.normal(0, 1.5, 128))
    chosen = [
        sorted(map(int, rng.choice(128, 8, replace=False, p=weights / weights.sum())))
        for _ in range(64)
    ]
    g, inputs, expected = layer(0, chosen, 128, tiling="dynamic")
    assert (run(g, inputs).tensors["y"] == expected).all()
