"""Sums of products as Verilog, under stalls: over dims, after each tile, from a row or number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import example

import stepgen as sg
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.ir.stalls import Stalls
from stepgen.ir.stream import Stream
from stepgen.semantics.numbers import as_element

ROWS, INNER, COLS = 3, 10, 6
EXTENTS = (2, 2, 2, 3)


def accumulated(rank: int, init: float | None = None) -> Callable[..., Stream]:
    """Over so many dims."""
    return lambda x, w: x.accum(sg.fn.matmul(transpose=rank == 2), w, rank=rank, init=init)


def scanned(rank: int, init: float | None = None) -> Callable[..., Stream]:
    """After each tile."""
    return lambda x, w: x.scan(sg.fn.matmul(transpose=rank == 2), w, rank=rank, init=init)


USES = {
    "accum": accumulated(1),
    "accum 2": accumulated(2),
    "accum 3 from a number": accumulated(3, -2),
    "scan": scanned(1, 2),
    "scan 2": scanned(2),
}


def contents(seed: int, size: tuple[int, ...], element: sg.ElementType) -> Any:
    """Drawn numbers; of floats one seed has the largest sums that there are."""
    rng = np.random.default_rng(seed)
    if element != sg.bf16:
        return rng.integers(-100, 101, size)
    return np.full(size, 1.75) if seed == 1 else rng.standard_normal(size)


@pytest.mark.slow
@pytest.mark.parametrize("use", [*USES, "add"])
@pytest.mark.parametrize("element", [sg.int8, sg.int16, sg.bf16], ids=str)
def test_sums_of_products(tmp_path: Any, element: sg.ElementType, use: str) -> None:
    turned = use in ("accum 2", "scan 2", "add")
    tiles = {"x": (ROWS, INNER), "w": (COLS, INNER) if turned else (INNER, COLS)}
    g = sg.Graph("products")
    x, w = (g.input(name, element[size], EXTENTS) for name, size in tiles.items())
    if use == "add":
        tiles["b"] = (1, COLS)
        row = (sg.f32 if element == sg.bf16 else sg.int32)[1, COLS]
        y = x.map(sg.fn.matmul_add(transpose=True), w, g.input("b", row, EXTENTS))
    else:
        y = USES[use](x, w)
    g.output(y, "y")
    runs = []
    for seed, share in enumerate((0, 0.3, 0.7)):
        inputs = {name: contents(seed, (*EXTENTS, *tile), element) for name, tile in tiles.items()}
        stalls = Stalls(seed, dict.fromkeys((*tiles, "y"), share))
        runs.append(Experiment(g, inputs, stalls=stalls))
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4])
def test_attention_over_caches_of_any_length(tmp_path: Any, lanes: int) -> None:
    """Of ragged keys and values, against numpy; as exact as weights of bf16 are."""
    runs = []
    for seed, share in enumerate((0, 0.3, 0.7)):
        graph, inputs = example("recipes").ragged_attention(seed=seed)
        inputs["q"] = np.random.default_rng(seed).standard_normal((3, 2, 8))
        stalls = Stalls(seed, dict.fromkeys((*"qkv", "y"), share))
        runs.append(Experiment(graph, inputs, lanes=lanes, stalls=stalls))
        for n, y in enumerate(runs[-1].reference.nested("y")):
            q, k, v = (as_bf16(inputs[name][n]) for name in "qkv")
            e = np.exp(q @ k.T - (q @ k.T).max(axis=1, keepdims=True))
            np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True) @ v, atol=0.02)
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


def as_bf16(x: Any) -> Any:
    """The numbers of bf16 next to these, in doubles."""
    return as_element(x, "bf16").astype(float)
