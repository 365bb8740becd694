"""Programs in which data decides the control flow: reference and timing exchange it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.program.tiles import simulate, simulate_with_data
from stepgen.timing.tiles import machines


def filtered(scores: np.ndarray) -> tuple[sg.Graph, dict[str, Any]]:
    """Rows whose score is negative are dropped; the others are stored."""
    count = len(scores)
    g = sg.Graph("filtered")
    x = g.tensor("x", (count, 4), sg.f32)
    y = g.tensor("y", (count, 4), sg.f32)
    score = g.input("score", sg.f32[1, 1], (1, count))
    zero = g.input("zero", sg.f32[1, 1], (1, count))
    drop = score.map(sg.fn.compare("lt"), zero)
    tile = sg.linear_offchip_load(x, tile=(count, 4), shape=(1,), stride=(1,))
    rows = tile.flat_map(sg.fn.retile_streamify("row"), rank=0, padding=drop)
    sg.linear_offchip_store(rows, y)
    inputs = {"score": scores.reshape(1, count, 1, 1), "zero": np.zeros((1, count, 1, 1), "f4")}
    return g, {**inputs, "x": np.arange(count * 4, dtype="f4").reshape(count, 4)}


@pytest.mark.parametrize("seed", range(8))
def test_what_data_drops_is_dropped_in_the_timing(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=6).astype("f4")
    graph, inputs = filtered(scores)
    run, result = simulate_with_data(graph, inputs, machines.SDA)
    kept = scores >= 0
    assert run.operators["flat_map_0"].tokens == kept.sum()
    assert run.traffic == (6 + kept.sum()) * 4 * 4
    assert np.array_equal(result.tensors["y"][: kept.sum()], inputs["x"][kept])


def test_more_rows_that_stay_take_longer() -> None:
    cycles = []
    for kept in (0, 32, 64):
        scores = np.where(np.arange(64) < kept, 1, -1).astype("f4")
        graph, inputs = filtered(scores)
        cycles.append(simulate_with_data(graph, inputs, machines.SDA)[0].cycles)
    assert cycles == sorted(set(cycles))


def test_without_data_the_message_says_what_is_missing() -> None:
    graph, inputs = filtered(np.ones(3, "f4"))
    with pytest.raises(sg.StepError, match=r"flat_map_0 .*needs the contents of map_0\.0"):
        simulate(graph, inputs, machines.SDA)


@pytest.mark.parametrize("seed", range(4))
def test_values_follow_the_orders_of_arrival(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = sg.Graph("arrivals")
    x = g.tensor("x", (8, 4), sg.f32)
    route = g.input("route", sg.Selector(2), (8,))
    rows = sg.linear_offchip_load(x, tile=(1, 4), shape=(8,), stride=(1,))
    slow, fast = (part.fifo(8) for part in sg.partition(rows, route, rank=0))
    merged, _ = sg.eager_merge([slow.map(sg.fn.exp()), fast], rank=0)
    g.output(merged, "y")
    selectors = np.eye(2, dtype=bool)[rng.integers(0, 2, 8)]
    inputs = {"route": selectors, "x": rng.normal(size=(8, 4)).astype("f4")}
    run, result = simulate_with_data(g, inputs, machines.SDA)
    exp = np.exp(inputs["x"])
    queues = [iter(exp[selectors[:, 0]]), iter(inputs["x"][selectors[:, 1]])]
    expected = np.array([next(queues[i]) for i in run.choices["eager_merge_0"]])
    assert np.allclose(np.array(result.nested("y"))[:, 0], expected, rtol=1e-3)
