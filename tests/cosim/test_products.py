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
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
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


def scaled_groups(bits: int) -> Callable[..., Any]:
    """Rows of bf16 times integers with a scale for each group of rows and column."""

    def made(rng: np.random.Generator) -> tuple[Any, Any, Any]:
        graph = example("recipes").grouped_weights(rows=3, k=16, n=8, group=8, bits=bits)
        x = rng.integers(-8, 8, (3, 1, 16)) / 4
        w = rng.integers(-(1 << bits - 1), 1 << bits - 1, (8, 16)).astype(np.int8)
        scales = (2.0 ** rng.integers(-6, 3, (2, 8))).astype(np.float32)
        due = x[:, 0] @ (w * np.repeat(scales, 8, axis=0).T).T
        return graph, {"x": as_element(x, "bf16"), "w": w, "scales": scales}, due

    return made


def of_f32(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    g = sg.Graph("floats")
    sizes = {"x": (2, 10), "w": (10, 6)}
    x, w = (g.input(name, sg.f32[size], (3,)) for name, size in sizes.items())
    g.output(x.map(sg.fn.matmul(), w), "y")
    inputs = {n: rng.standard_normal((3, *size)).astype(np.float32) for n, size in sizes.items()}
    return g, inputs, inputs["x"].astype(float) @ inputs["w"].astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize(
    "drawn", [scaled_groups(8), scaled_groups(4), of_f32], ids=["int8 groups", "int4 groups", "f32"]
)
def test_products_of_floats(tmp_path: Any, drawn: Callable[..., Any], lanes: int) -> None:
    """Against numpy in doubles; sums of few digits are exact."""
    runs = []
    for seed, share in enumerate((0, 0.4, 0.8)):
        graph, inputs, due = drawn(np.random.default_rng(seed))
        stalls = Stalls(seed, dict.fromkeys((*graph.ports, *MEMORY_CHANNELS), share))
        runs.append(Experiment(graph, inputs, lanes=lanes, stalls=stalls, junk=True))
        found = np.array(runs[-1].reference.nested("y"), float).reshape(due.shape)
        rough = {"rtol": 1e-5, "atol": 1e-6} if drawn is of_f32 else {"rtol": 0}
    np.testing.assert_allclose(found, due, **rough)
    for verdict in simulate(runs, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 8])
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
