"""The paper's off-chip memory against one that serves request by request."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from simple_reference import Load, serve

import stepgen as sg
from stepgen.flow.tiles import simulate
from stepgen.timing.layout import Layout
from stepgen.timing.tiles import simple
from stepgen.timing.tiles.machines import SDA_PUBLISHED, Machine

MEMORY = SDA_PUBLISHED.memory
WITHOUT_CONFLICTS = (1, 4)
"""Requests per cycle of one operator that never meet on a channel, as with all published runs."""

ONE_LOAD = {
    16: (30, 47, 54, 54),
    64: (50, 121, 178, 195),
    256: (60, 200, 468, 497),
    1024: (63, 239, 790, 809),
}
"""Bytes per cycle of one load, by requests per tile, for the rates below."""
RATES = (1, 4, 16, 32)


def answers(loads: Sequence[Load]) -> list[list[int]]:
    """When the tiles of each operator are there, as the model has it; one tile at a time."""
    layout = Layout("test")
    memory = MEMORY.lay_out(layout)
    ports = [replace(MEMORY, requests_per_cycle=x.rate).port(layout, memory) for x in loads]
    M = layout.build()
    done: list[list[int]] = [[] for _ in loads]
    looks = [(load.start, i, False) for i, load in enumerate(loads)]
    while looks:
        t, i, asking = heapq.heappop(looks)
        requests = loads[i].requests
        if not asking:
            simple.start(M, ports[i], t, requests[len(done[i])], MEMORY.request_bytes)
        then = simple.advance(M, ports[i], t)
        if then:
            heapq.heappush(looks, (then, i, True))
            continue
        # The next tile is asked for in the cycle after the last answer.
        done[i].append(int(M[ports[i] + simple.DONE]) + 1)
        if len(done[i]) < len(requests):
            heapq.heappush(looks, (done[i][-1], i, False))
    return done


def both(requests: Sequence[Sequence[int]], rate: int) -> tuple[list[list[int]], list[list[int]]]:
    """What the model and the reference say."""
    loads = [Load(each, rate) for each in requests]
    serve(loads)
    return answers(loads), [load.done for load in loads]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("seed", range(4))
def test_one_operator(seed: int, rate: int) -> None:
    rng = np.random.default_rng(seed)
    requests = [int(n) for n in rng.integers(1, 500, 15)]
    (model,), (reference,) = both([requests], rate)
    if rate in WITHOUT_CONFLICTS:
        assert model == reference
    each = np.diff([0, *model]) - np.diff([0, *reference])
    assert abs(each).max() <= 2


@pytest.mark.parametrize("rate", [1, 4, 16])
@pytest.mark.parametrize("seed", range(8))
def test_several_operators(seed: int, rate: int) -> None:
    rng = np.random.default_rng(100 + seed)
    sizes = rng.integers(16, 400, int(rng.integers(2, 33)))
    model, reference = both([[int(n)] * 12 for n in sizes], rate)
    last = max(each[-1] for each in reference)
    tolerance = 0.02 if rate in WITHOUT_CONFLICTS else 0.06
    assert abs(max(each[-1] for each in model) - last) <= tolerance * last
    ends = [sum(each[-1] for each in found) for found in (model, reference)]
    assert abs(ends[0] - ends[1]) <= tolerance * ends[1]


@pytest.mark.parametrize("size", [1, 17, 33])
def test_no_request_is_counted_that_is_not_made(size: int) -> None:
    """Tiles that are no multiple of what is offered in a cycle, from operators that take turns."""
    loads = [Load([size] * 30, 16, start=i) for i in range(24)]
    serve(loads)
    model, last = answers(loads), max(load.done[-1] for load in loads)
    assert abs(max(each[-1] for each in model) - last) <= 0.15 * last


@pytest.mark.parametrize("seed", range(4))
def test_tiles_of_drawn_sizes(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    requests = [[int(n) for n in rng.integers(1, 300, 12)] for _ in range(20)]
    model, reference = both(requests, 1)
    last = max(each[-1] for each in reference)
    assert abs(max(each[-1] for each in model) - last) <= 0.02 * last


def loads(requests: Sequence[int], tiles: int) -> sg.Graph:
    """A program of loads alone, each of tiles of so many requests."""
    g = sg.Graph("loads")
    for i, n in enumerate(requests):
        tensor = g.tensor(f"t{i}", (n, 32), sg.bf16)
        x = sg.linear_offchip_load(tensor, tile=(n, 32), shape=(tiles,), stride=(0,))
        g.output(x, f"out{i}")
    return g


def cycles(requests: Sequence[int], tiles: int, rate: int, **more: int) -> int:
    memory = replace(MEMORY, requests_per_cycle=rate)
    machine: Machine = replace(SDA_PUBLISHED, memory=memory, **more)
    return simulate(loads(requests, tiles), {}, machine).cycles


@pytest.mark.parametrize("requests", ONE_LOAD)
@pytest.mark.parametrize("index", range(len(RATES)))
def test_bandwidth_of_one_load(requests: int, index: int) -> None:
    rate, told = RATES[index], ONE_LOAD[requests][index]
    taken = cycles([requests], 30, rate) - cycles([requests], 10, rate)
    found = 20 * requests * MEMORY.request_bytes / taken
    least = -(-requests // min(rate, MEMORY.channels // MEMORY.interval)) + 18
    assert taken == 20 * least or rate == 32
    assert found == pytest.approx(told, rel=0.01 if rate in WITHOUT_CONFLICTS else 0.06)


@pytest.mark.parametrize(("operators", "told"), [(1, 60), (4, 239), (8, 478), (16, 954), (32, 991)])
def test_bandwidth_of_several_loads_as_published(operators: int, told: int) -> None:
    assert of_several(operators, 1) == pytest.approx(told, rel=0.02)


@pytest.mark.parametrize(
    ("operators", "rate", "told"),
    [(2, 4, 395), (4, 4, 790), (8, 4, 904), (16, 4, 1001), (32, 4, 1017)],
)
def test_bandwidth_of_several_loads(operators: int, rate: int, told: int) -> None:
    # Equal loads that begin at once stay in step here, while channels let some go ahead.
    assert of_several(operators, rate) == pytest.approx(told, rel=0.05)


def of_several(operators: int, rate: int) -> float:
    """Bytes per cycle of loads of 16 KiB tiles."""
    taken = cycles([256] * operators, 30, rate) - cycles([256] * operators, 10, rate)
    return operators * 20 * 256 * MEMORY.request_bytes / taken


def test_two_tiles_in_flight_hide_the_latency() -> None:
    alone, ahead = (cycles([64], 40, 16, tiles_in_flight=n) for n in (1, 8))
    assert alone == 40 * (4 + 18) + alone % (4 + 18)
    assert ahead < 40 * 6


def test_rows_apart_are_rounded_up_each() -> None:
    g = sg.Graph("rows")
    tensor = g.tensor("t", (64, 8), sg.bf16)
    g.output(sg.linear_offchip_load(tensor, tile=(64, 8), shape=(1,), stride=(1,)), "out")
    apart, whole = (
        simulate(g, {}, replace(SDA_PUBLISHED, memory=replace(MEMORY, rows_apart=flag))).cycles
        for flag in (True, False)
    )
    assert apart - whole == 64 - 64 * 16 // 64
