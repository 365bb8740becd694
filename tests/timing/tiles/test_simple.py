"""The paper's off-chip memory, compared with a model that serves request by request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import example
from simple_reference import Load, serve

import stepgen as sg
from stepgen.program.tiles import simulate
from stepgen.timing.layout import Layout
from stepgen.timing.tiles import simple
from stepgen.timing.tiles.machines import SDA_PUBLISHED, Machine
from stepgen.timing.tiles.simple import SimpleMemory

DOCS = Path(__file__).parents[3] / "docs"
MEMORY = SDA_PUBLISHED.memory
ONE_LOAD = {
    16: (30, 47, 54, 54),
    64: (50, 121, 178, 195),
    256: (60, 200, 468, 497),
    1024: (63, 239, 790, 809),
}
"""Bytes per cycle of one load, by requests per tile, for the rates below."""
RATES = (1, 4, 16, 32)


def answers(loads: Sequence[Load], memory: SimpleMemory) -> list[list[int]]:
    """When the tiles of each operator are there, as the model has it; one tile at a time."""
    layout = Layout("test")
    record = memory.lay_out(layout)
    ports = [replace(memory, requests_per_cycle=x.rate).port(layout, record) for x in loads]
    M = layout.build()
    done: list[list[int]] = [[] for _ in loads]
    looks = [(load.start, i, False) for i, load in enumerate(loads)]
    rng = np.random.default_rng(len(loads))
    while looks:
        t = min(looks)[0]
        # In which order ports are looked at within a cycle is no matter.
        now = [look for look in looks if look[0] == t]
        looks = [look for look in looks if look[0] != t]
        for n in rng.permutation(len(now)):
            _, i, asking = now[n]
            requests = loads[i].requests
            if not asking:
                simple.start(M, ports[i], t, requests[len(done[i])], memory.request_bytes)
            then = simple.advance(M, ports[i], t)
            if then:
                looks.append((then, i, True))
                continue
            # The next tile is asked for in the cycle after the last answer.
            done[i].append(int(M[ports[i] + simple.P.done]) + 1)
            if len(done[i]) < len(requests):
                looks.append((done[i][-1], i, False))
    return done


def same_or_not(numbers: st.SearchStrategy[int], size: int) -> st.SearchStrategy[list[int]]:
    """Numbers that are all equal, or each drawn for itself."""
    return st.one_of(
        numbers.map(lambda number: [number] * size),
        st.lists(numbers, min_size=size, max_size=size),
    )


@st.composite
def operators(draw: st.DrawFn) -> list[Load]:
    """Equal loads and others."""
    count, tiles = draw(st.sampled_from([1, 2, 3, 8, 20, 33])), draw(st.integers(1, 8))
    most = draw(st.sampled_from([120, 600]))  # the longer ones repeat what channels get
    sizes = draw(same_or_not(st.integers(1, most), count * tiles))
    rates = draw(same_or_not(st.integers(1, 20), count))
    starts = draw(same_or_not(st.integers(0, 40), count))
    return [Load(sizes[i * tiles : (i + 1) * tiles], rates[i], starts[i]) for i in range(count)]


@settings(max_examples=60)
@given(
    loads=operators(),
    channels=st.sampled_from([1, 4, 8, 12, 24, 32, 40]),
    interval=st.sampled_from([1, 2, 5]),
    triangular=st.booleans(),
)
def test_every_answer_comes_when_the_reference_has_it(
    loads: list[Load], channels: int, interval: int, triangular: bool
) -> None:
    """Few channels and many, saturated or hardly used."""
    serve(loads, channels=channels, interval=interval, triangular=triangular)
    memory = replace(MEMORY, channels=channels, interval=interval, triangular=triangular)
    assert answers(loads, memory) == [load.done for load in loads]


LAYERS = [
    ((64, 64, 256), (16, 16), 8, 4281),
    ((64, 128, 512), (16, 16), 8, 16681),
    ((64, 128, 512), (16, 16), 4, 33109),
    ((128, 256, 512), (16, 16), 8, 66313),
    ((64, 128, 512), (32, 32), 8, 8585),
]
"""SwiGLU layers that the paper does not show, and what the published simulator says of them: batch,
width and inner width, tiles of batch and inner width, channels, cycles."""


@pytest.mark.parametrize(("sizes", "tiles", "channels", "expected"), LAYERS, ids=str)
def test_layers_of_equal_loads_take_what_the_published_simulator_takes(
    sizes: Any, tiles: Any, channels: int, expected: int
) -> None:
    assert layer(sizes, tiles, channels) == pytest.approx(expected, abs=2)


SENSITIVE = [
    ((48, 256, 384), (24, 24), 5, {"fifo_depth": 8, "flops": 2048}),
    ((16, 320, 256), (8, 32), 7, {"requests_per_cycle": 2, "flops": 512}),
    ((192, 320, 960), (48, 40), 12, {}),
]
"""Layers on channels of which the published addresses miss some."""


@pytest.mark.parametrize(("sizes", "tiles", "channels", "more"), SENSITIVE, ids=str)
def test_where_channels_are_missed_a_cycle_changes_much(
    sizes: Any, tiles: Any, channels: int, more: Any
) -> None:
    """Cycles that the docs tell, which are not those of the published simulator."""
    found, later = (
        [layer(sizes, tiles, n, **more, latency=MEMORY.latency + k) for k in (0, 1)]
        for n in (channels, 8)
    )
    assert f"| {found[0]:,} | {found[1]:,} |" in (DOCS / "machines.md").read_text()
    assert abs(found[1] - found[0]) > 0.05 * found[0]
    assert later[1] - later[0] == 2


def test_two_loads_on_5_channels_are_there_before_one_alone() -> None:
    """It meets 3 of them, one twice in each cycle; two loads that ask together meet all."""
    memory = replace(MEMORY, channels=5, requests_per_cycle=4)
    machine = replace(SDA_PUBLISHED, memory=memory)
    one, two = (simulate(loads([400] * n, 1), {}, machine).cycles for n in (1, 2))
    assert one > 400 * MEMORY.interval / 2
    assert two < 1.1 * 2 * 400 * MEMORY.interval / 5


def layer(
    sizes: Any,
    tiles: Any,
    channels: int,
    *,
    requests_per_cycle: int = 4,
    fifo_depth: int = 1,
    flops: int = SDA_PUBLISHED.compute.flops,
    **more: Any,
) -> int:
    """Cycles of a SwiGLU layer with the settings of `LAYERS`, or others."""
    graph, inputs = example("swiglu").swiglu(*sizes, *tiles, element="f32", data=False)
    memory = replace(MEMORY, channels=channels, requests_per_cycle=requests_per_cycle, **more)
    compute = replace(SDA_PUBLISHED.compute, flops=flops)
    own = {"fifo_depth": fifo_depth, "onchip_bandwidth": 256, "compute": compute}
    machine: Machine = replace(SDA_PUBLISHED, memory=memory, **own)
    return simulate(graph, inputs, machine).cycles


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
    rate, expected = RATES[index], ONE_LOAD[requests][index]
    taken = cycles([requests], 30, rate) - cycles([requests], 10, rate)
    found = 20 * requests * MEMORY.request_bytes / taken
    assert found == pytest.approx(expected, rel=0.01 if rate in (1, 4) else 0.06)


@pytest.mark.parametrize(
    ("operators", "expected"), [(1, 60), (4, 239), (8, 478), (16, 954), (32, 991)]
)
def test_bandwidth_of_several_loads_as_published(operators: int, expected: int) -> None:
    assert of_several(operators, 1) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("operators", "rate", "expected"),
    [(2, 4, 395), (4, 4, 790), (8, 4, 904), (16, 4, 1001), (32, 4, 1017)],
)
def test_bandwidth_of_several_loads(operators: int, rate: int, expected: int) -> None:
    assert of_several(operators, rate) == pytest.approx(expected, rel=0.03)


def of_several(operators: int, rate: int) -> float:
    """Bytes per cycle of loads of 16 KiB tiles."""
    taken = cycles([256] * operators, 30, rate) - cycles([256] * operators, 10, rate)
    return operators * 20 * 256 * MEMORY.request_bytes / taken


def test_two_tiles_in_flight_hide_the_latency() -> None:
    alone, ahead = (cycles([64], 40, 4, tiles_in_flight=n) for n in (1, 8))
    assert alone == 40 * (16 + 18) + alone % (16 + 18)
    assert ahead < 40 * 17 + 18


def test_rows_apart_are_rounded_up_each() -> None:
    g = sg.Graph("rows")
    tensor = g.tensor("t", (64, 8), sg.bf16)
    g.output(sg.linear_offchip_load(tensor, tile=(64, 8), shape=(1,), stride=(1,)), "out")
    apart, whole = (
        simulate(g, {}, replace(SDA_PUBLISHED, memory=replace(MEMORY, rows_apart=flag))).cycles
        for flag in (True, False)
    )
    assert apart - whole == 64 - 64 * 16 // 64
