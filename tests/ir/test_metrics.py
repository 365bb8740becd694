"""Symbolic metrics against published numbers, formulas written again, and drawn routings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example
from work import worked

import stepgen as sg
from stepgen.ir import metrics
from stepgen.ir.metrics import Metrics, Numbers, register_policy

# Tokens per expert that fall into as many tiles as those behind the published points.
MIXTRAL_COUNTS = [12, 23, 19, 5, 11, 11, 17, 30]
QWEN_COUNTS = [20] * 12 + [6] * 32 + [5] * 16 + [0] * 68


def _experts(model: str, tile: int | None) -> sg.Graph:
    tiling = {"tiling": "dynamic"} if tile is None else {"tiling": "static", "tile": tile}
    graph: sg.Graph = example("moe_swiglu").moe_swiglu(model, data=False, **tiling)[0]
    return graph


def _published(model: str, counts: list[int], tile: int | None) -> Numbers:
    metrics = sg.metrics(_experts(model, tile), "published")
    return metrics.evaluate({f"E{i}": n for i, n in enumerate(counts)})


@pytest.mark.parametrize(
    ("batch", "inner", "traffic", "memory"),
    [
        (16, 16, 8454144, 100352),
        (16, 64, 6881280, 253952),
        (16, 256, 6488064, 868352),
        (64, 64, 2162688, 425984),
    ],
)
def test_swiglu_layer_costs_the_published_bytes(
    batch: int, inner: int, traffic: int, memory: int
) -> None:
    graph = example("swiglu").swiglu(tile_batch=batch, tile_inner=inner, element="f32", data=False)[
        0
    ]
    published = sg.metrics(graph, "published")
    assert (published.traffic, published.memory) == (traffic, memory)
    assert sg.metrics(graph, "paper").traffic == traffic


@pytest.mark.parametrize("width", [256, 64, 16])
@pytest.mark.parametrize("inner", [16, 32, 512])
@pytest.mark.parametrize("batch", [16, 32, 64])
def test_swiglu_memory_is_that_of_its_tiles(batch: int, inner: int, width: int) -> None:
    """Loads of x, gate, up and down, accumulators of gate, up and result, and the store."""
    tiles = {"tile_batch": batch, "tile_inner": inner, "tile_width": width}
    graph = example("swiglu").swiglu(**tiles, element="f32", data=False)[0]
    loads = batch * width + 2 * width * inner + inner * 256
    held = 2 * batch * inner + batch * 256
    assert sg.metrics(graph, "published").memory == 4 * (loads + held + batch * 256)


@pytest.mark.parametrize(
    ("tile", "traffic", "memory"),
    [
        (8, 7048003840, 15769602),
        (16, 4229431552, 18915330),
        (64, 2820145408, 37789698),
        (None, 2820145408, 18915330),
    ],
)
def test_mixtral_as_published(tile: int | None, traffic: int, memory: int) -> None:
    got = _published("mixtral", MIXTRAL_COUNTS, tile)
    assert (got.traffic, got.memory) == (traffic, memory)


@pytest.mark.parametrize(
    ("tile", "traffic", "memory"),
    [(16, 680264704, 151015426), (64, 567018496, 302010370), (None, 567018496, 59789314)],
)
def test_qwen_as_published(tile: int | None, traffic: int, memory: int) -> None:
    got = _published("qwen", QWEN_COUNTS, tile)
    assert (got.traffic, got.memory) == (traffic, memory)


def test_published_silu_is_charged_per_column_of_the_model() -> None:
    counts = {f"E{i}": n for i, n in enumerate(QWEN_COUNTS)}
    graph = _experts("qwen", 32)
    true = sg.metrics(graph, "paper").evaluate(counts).flops
    published = sg.metrics(graph, "published").evaluate(counts).flops
    assert published / true == pytest.approx(14 / 6, rel=2e-3)


def _layer(tiling: str, **parameters: Any) -> sg.Graph:
    graph: sg.Graph = example("moe").moe(tiling=tiling, **parameters)[0]
    return graph


@pytest.mark.parametrize("tiling", ["static", "dynamic"])
def test_moe_costs_what_its_formula_says(tiling: str) -> None:
    rng = np.random.default_rng(3)
    mask = rng.random((20, 64, 8)) < rng.random((20, 1, 8)) ** 2
    n = mask.sum(axis=1)
    tiles = -(-n // 4) if tiling == "static" else np.minimum(n, 1)
    rows = 4 * tiles if tiling == "static" else n
    graph = _layer(tiling)
    values = sg.selector_counts(graph, "route", mask)
    got = sg.metrics(graph).evaluate(values)
    np.testing.assert_array_equal(
        got.traffic, 64 * 64 + 64 * 256 * tiles.sum(axis=1) + 256 * n.sum(axis=1)
    )
    # 2 M K N of the matmul and one operation per element that is requantized.
    np.testing.assert_array_equal(got.flops, (2 * 64 + 1) * 256 * rows.sum(axis=1))
    # Double buffers of a row, a weight tile per expert and a result row; packed, repeated and
    # joined tiles per expert; 16 operand rows and a weight tile per matmul.
    tile_rows = n if tiling == "dynamic" else np.full_like(n, 4)
    held = 2 * 64 + 8 * 2 * 64 * 64 + 2 * 256
    held += (tile_rows * (64 + 64 + 256)).sum(axis=1) + 8 * (16 * 64 + 64 * 64)
    np.testing.assert_array_equal(got.memory, held)
    one = sg.metrics(graph).evaluate(sg.selector_counts(graph, "route", mask[7]))
    assert (one.traffic, one.memory, one.flops) == (got.traffic[7], got.memory[7], got.flops[7])
    assert got.intensity[7] == pytest.approx(one.flops / one.traffic)


def test_padded_tiles_are_counted_exactly_in_integers() -> None:
    graph = _layer("static", experts=1, top=1, tokens=300, tile=49)
    metrics = sg.metrics(graph)
    for n in range(300):
        expected = 300 * 64 + 64 * 256 * -(-n // 49) + 256 * n
        assert metrics.evaluate({"E0": n}).traffic == expected


def test_thousand_routings_of_128_experts_take_little_work() -> None:
    graph = _layer("dynamic", experts=128, top=8)
    mask = np.random.default_rng(0).random((1000, 64, 128)) < 0.06
    values = sg.selector_counts(graph, "route", mask)
    got, calls = worked(lambda: sg.metrics(graph).evaluate(values))
    assert calls < 1_500_000
    assert got.traffic.shape == (1000,)


def test_missing_dims_are_named() -> None:
    with pytest.raises(sg.StepError, match="depend on the dims E1, which have no value"):
        sg.metrics(_layer("dynamic", experts=2)).evaluate({"E0": 3})


def test_a_policy_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_providers", {})
    graph = _layer("dynamic", experts=2)
    with pytest.raises(sg.StepError, match="there is no policy 'sculpture', those are paper"):
        sg.metrics(graph, "sculpture")
    register_policy("marble", lambda g, design: Metrics(f"{g.name} {design}", {}))
    assert sg.metrics(graph, "marble", design=7).policy == "moe_dynamic 7"


def test_dims_of_another_number_of_runs_are_refused() -> None:
    values = {"E0": np.arange(2), "E1": np.arange(3)}
    with pytest.raises(sg.StepError, match=r"one entry per run, not E0 \[2\], E1 \[3\]"):
        sg.metrics(_layer("dynamic", experts=2)).evaluate(values)


def test_what_gives_no_selectors_is_refused() -> None:
    g = sg.Graph()
    g.output(g.input("x", sg.int8[1, 4], (2,)), "y")
    for name in ("x", "y"):
        with pytest.raises(sg.StepError, match=f"no partition is steered by {name}"):
            sg.selector_counts(g, name, np.zeros((2, 2), bool))


def test_selectors_of_another_shape_are_refused() -> None:
    graph = _layer("dynamic", experts=4)
    with pytest.raises(sg.StepError, match=r"with 4 columns, not of shape \(64, 3\)"):
        sg.selector_counts(graph, "route", np.zeros((64, 3), bool))


def test_ragged_groups_are_summed_not_multiplied() -> None:
    """A ragged dim has no product: totals come from where its groups come from."""
    g = sg.Graph()
    x = g.input("x", sg.bf16[1, 32], (10,))
    parts = sg.partition(x, g.input("sel", sg.Selector(3), (10,)), rank=0)
    merged = sg.reassemble(parts, g.node("sel").outputs[0], rank=0)
    tall = merged.accum(sg.fn.retile_row(), rank=1)
    sg.linear_offchip_store(tall.map(sg.fn.exp()), g.tensor("y", (30, 32), sg.bf16))
    got = sg.metrics(g).evaluate({"E0": 2, "E1": 5, "E2": 0, "K0": 2})
    assert (got.traffic, got.flops) == (7 * 32 * 2, 7 * 32 * 4)


def test_merged_dynamic_tiles_are_summed() -> None:
    g = sg.Graph()
    x = g.input("x", sg.bf16[1, 32], (64,))
    route = g.input("route", sg.Selector(2), (64,))
    tiles = [p.promote().accum(sg.fn.retile_row(), rank=1) for p in sg.partition(x, route, rank=0)]
    data, _ = sg.eager_merge(tiles, rank=0)
    weights = g.input("w", sg.bf16[32, 16], data.shape)
    product = data.map(sg.fn.matmul(), weights)
    g.output(product, "y")
    got = sg.metrics(g).evaluate({"E0": 5, "E1": 7, product.dtype.rows: 7})
    assert got.flops == 2 * (5 + 7) * 32 * 16


def test_what_goes_through_buffers_once_keeps_its_total() -> None:
    g = sg.Graph()
    x = g.input("x", sg.bf16[4, 8], (5, sg.ragged("K")))
    buffers = x.bufferize(rank=1)
    assert buffers.streamify().totals == x.totals
    assert buffers.streamify(x.accum(sg.fn.add(), rank=1)).totals == x.totals
    assert buffers.streamify(count=3).totals[1:] == (15, 5)
