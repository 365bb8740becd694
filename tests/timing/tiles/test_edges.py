"""Edge cases: empty tiles, slow memories, invalid machines and inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.program.tiles import simulate
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.tiles.bandwidth import bandwidth
from stepgen.timing.tiles.dram import HBM2
from stepgen.timing.tiles.machines import SDA, Compute, Machine
from stepgen.timing.tiles.simple import SimpleMemory

fn = sg.fn


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0), (3, 4)], ids=str)
@pytest.mark.parametrize("memory", [SDA.memory, HBM2], ids=["simple", "dram"])
def test_tiles_of_nothing_are_stored_for_nothing(shape: Any, memory: Any) -> None:
    g = sg.Graph("nothing")
    tile = sg.f32["R", 4] if shape[1] else sg.f32["R", "C"]
    x = g.input("x", tile, (3,))
    sg.linear_offchip_store(x, g.tensor("out", (12, 4), sg.f32))
    run = simulate(g, {"x": np.zeros((3, *shape), np.float32)}, replace(SDA, memory=memory))
    assert run.traffic == 3 * shape[0] * shape[1] * 4


@pytest.mark.parametrize("interval", [1, 3, 1000, 5000, 1 << 20])
def test_a_memory_slower_than_a_request_in_many_cycles(interval: int) -> None:
    memory = SimpleMemory(channels=1, interval=interval, requests_per_cycle=1)
    measured = bandwidth(memory, bytes=1 << 16, tile=1024)
    assert measured.share == pytest.approx(1, rel=0.05)
    # The last of 1,024 requests is answered before its channel is free again.
    assert measured.per_cycle <= memory.peak * 1024 / 1023


def test_stores_apart_have_bandwidth_of_their_own() -> None:
    memory = SimpleMemory(channels=4, stores_apart=True)
    one, both = (bandwidth(memory, ports=4, writes=writes) for writes in (0, 2))
    assert both.per_cycle == pytest.approx(2 * one.per_cycle, rel=0.01)


def test_a_fixed_time_replaces_that_of_the_flops() -> None:
    g = sg.Graph("fixed")
    x = g.input("x", sg.f32[8, 8], (20,))
    g.output(x.map(fn.exp()), "y")
    inputs = {"x": np.zeros((20, 8, 8), np.float32)}
    slow = replace(SDA, compute=Compute(1))
    fixed = replace(SDA, compute=Compute(1, fixed={"exp": 3}))
    runs = simulate(g, inputs, slow), simulate(g, inputs, fixed)
    assert runs[0].flops_useful == runs[1].flops_useful > 0
    assert runs[0].cycles > 20 * 64
    assert 20 * 3 <= runs[1].cycles <= 20 * 3 + 8


@pytest.mark.parametrize("number", [-1, 4])
def test_an_address_outside_a_tensor(number: int) -> None:
    g = sg.Graph("outside")
    place = g.input("place", sg.address[1, 1], (1,))
    table = g.tensor("table", (8, 4), sg.f32)
    g.output(sg.random_offchip_load(place, table, tile=(2, 4)), "y")
    with pytest.raises(sg.StepError) as raised:
        simulate(g, {"place": np.array([[[number]]])}, SDA)
    assert not isinstance(raised.value, Deadlock)


@pytest.mark.parametrize("span", [(0, 1 << 20), (1 << 30, 1)], ids=str)
def test_a_range_larger_than_a_word(span: tuple[int, int]) -> None:
    g = sg.Graph("ranges")
    ranges = g.input("ranges", sg.address[1, 2], (1,))
    g.output(ranges.map(fn.span_end()), "y")
    with pytest.raises(sg.StepError, match=f"not {span[1]} addresses from {span[0]} on"):
        simulate(g, {"ranges": np.array([[span]])}, SDA)


NUMBERS = ("onchip_bandwidth", "fifo_depth", "tiles_in_flight")


@pytest.mark.parametrize("name", NUMBERS)
def test_machines_of_nothing(name: str) -> None:
    with pytest.raises(sg.StepError, match=f"machine sda: {name} must be at least 1, not 0"):
        replace(SDA, **{name: 0})


def test_parts_of_machines_of_nothing() -> None:
    for changes in ({"flops": 0}, {"of_functions": {"mul": 0}}, {"fixed": {"mul": -1}}):
        with pytest.raises(sg.StepError, match="must be at least 1"):
            Compute(**changes)
    for name in ("channels", "request_bytes", "interval", "latency", "requests_per_cycle"):
        with pytest.raises(sg.StepError, match=f"{name} must be at least 1, not 0"):
            SimpleMemory(**{name: 0})


@pytest.mark.parametrize("places", [1, 2, 3, 4, 5])
def test_any_number_of_tiles_in_flight(places: int) -> None:
    """Tiles of one request each: a latency passes for every so many of them."""
    g = sg.Graph("loads")
    x = sg.linear_offchip_load(
        g.tensor("t", (1, 32), sg.bf16), tile=(1, 32), shape=(60,), stride=(0,)
    )
    g.output(x, "y")
    machine: Machine = replace(SDA, tiles_in_flight=places)
    cycles = simulate(g, {}, machine).cycles
    assert cycles == pytest.approx(60 / places * (SDA.memory.latency + 1), rel=0.1)
