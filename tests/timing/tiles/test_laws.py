"""Monotonicity: a machine with more of a resource never makes a program slower.

Where loads and stores don't compete for off-chip bandwidth this holds exactly: an operator acts as
soon as its operands and space for its result are there, so an earlier operand or more space delays
nothing. Merges in order of arrival could be an exception, since earlier chunks may change the
order; no drawn program was one, so the test includes them. With scarce off-chip bandwidth it holds
only approximately, as in any system with a shared queue: a request that is issued earlier may be
served before a more urgent one. More off-chip bandwidth itself was never slower.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs import example
from seeds import some_slow
from tile_beats import Recorded
from tile_drawing import TileProgram, runs

import stepgen as sg
from stepgen.fuzz.generators.plain import draw
from stepgen.program.tiles import simulate
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.tiles.actor import NOW
from stepgen.timing.tiles.machines import SDA, SDA_PUBLISHED, Machine

ANOMALY = {"bandwidth": 0.0, "tiles in flight": 0.1}
"""By what share a machine with more may take longer where bandwidth is scarce; 0.02 otherwise."""
AMPLE = replace(SDA.memory, channels=32 * 64)
"""More bandwidth than all operators together can ask for."""
SCARCE = replace(SDA.memory, channels=4)
DEPTHS = (1, 2, 3, 7, 300)

Case = tuple[sg.Graph, dict[str, Any]]


def drawn_experts(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(1, 20))
    chosen = np.argsort(rng.random((tokens, 4)) * rng.random(4), axis=1)[:, :2]
    graph, inputs = example("moe_swiglu").moe_swiglu(
        **{"experts": 4, "top": 2, "width": 16, "inner": 32, "columns": 8},
        **{"tokens": tokens, "tiling": ("static", "dynamic")[seed % 2], "tile": 3},
        routing=chosen,
        data=False,
    )
    return graph, inputs


def drawn_requests(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(0, 40, int(rng.integers(1, 9)))]
    graph, inputs = example("attention").attention(
        lengths=lengths,
        **{"rows": 2, "width": 8, "tile": 4, "softmax": ("safe", "published")[seed % 2]},
        data=False,
    )
    return graph, inputs


def drawn_program(seed: int) -> Case:
    with np.errstate(all="ignore"):
        program, _, _ = draw(seed, 4, TileProgram, runs)
    return program.graph, program.inputs


CASES = {"experts": drawn_experts, "requests": drawn_requests, "program": drawn_program}
SEEDS = 8

cases = pytest.mark.parametrize("kind", CASES)
seeds = pytest.mark.parametrize("seed", some_slow(range(SEEDS), 1))


def variants(base: Machine) -> dict[str, list[Machine]]:
    """Machines with more and more of something."""
    memory, deep = base.memory, replace(base, fifo_depth=300)
    return {
        "room": [replace(base, fifo_depth=depth) for depth in DEPTHS],
        "arithmetic": [
            replace(deep, compute=replace(base.compute, flops=n)) for n in (8, 64, 512, 4096)
        ],
        "on-chip bandwidth": [replace(deep, onchip_bandwidth=n) for n in (2, 16, 64)],
        "tiles in flight": [replace(deep, tiles_in_flight=n) for n in (1, 2, 5)],
        "bandwidth": [
            replace(deep, memory=replace(memory, channels=n * memory.channels)) for n in (1, 2, 4)
        ],
    }


def slower(case: Case, machines: list[Machine]) -> Iterator[float]:
    """By what share each machine takes longer than the one before; those that deadlock left out."""
    taken: list[int] = []
    for machine in machines:
        try:
            taken.append(simulate(*case, machine).cycles)
        except Deadlock:
            # More space never causes a deadlock.
            assert not taken
    return (after / before - 1 for before, after in itertools.pairwise(taken))


@cases
@seeds
def test_more_is_never_slower_where_loads_have_bandwidth(kind: str, seed: int) -> None:
    case = CASES[kind](seed)
    base = replace((SDA, SDA_PUBLISHED)[seed // 2 % 2], memory=AMPLE)
    for what, machines in variants(base).items():
        assert max(slower(case, machines), default=0) <= 0, what


@cases
@seeds
def test_more_is_hardly_slower_where_they_have_not(kind: str, seed: int) -> None:
    case = CASES[kind](seed)
    for what, machines in variants(replace(SDA, memory=SCARCE)).items():
        assert max(slower(case, machines), default=0) <= ANOMALY.get(what, 0.02), what


@cases
@seeds
def test_shares_are_shares_and_memory_is_used(kind: str, seed: int) -> None:
    graph, inputs = CASES[kind](seed)
    for machine in (SDA, replace(SDA_PUBLISHED, memory=SCARCE)):
        run = simulate(graph, inputs, replace(machine, fifo_depth=300))
        assert 0 <= run.compute_utilization <= 1
        assert 0 <= run.bandwidth_utilization <= 1
        assert run.memory_peak >= max((o.traffic > 0 for o in run.operators.values()), default=0)


def read_back(chunks: int) -> int:
    """Most bytes held by a program that buffers chunks of 8 tiles and reads each twice."""
    g = sg.Graph("buffers")
    x = g.input("x", sg.f32[1, 4], (chunks, 8))
    g.output(x.bufferize(rank=1).streamify(count=2), "y")
    return simulate(g, {"x": np.zeros((chunks, 8, 1, 4), np.float32)}, SDA).memory_peak


def test_buffers_are_given_back() -> None:
    tile = 16
    # One chunk is being filled while two wait or are read; FIFOs hold two tiles each.
    assert 3 * 8 * tile <= read_back(10) <= (3 * 8 + 2 * 2) * tile
    assert read_back(10) == read_back(50)


def test_buffers_are_given_back_that_nothing_will_read() -> None:
    """References that only say how often something else is sent keep no buffer."""
    tile, peaks = 16, set()
    for chunks in (10, 50):
        g = sg.Graph("counted")
        x = g.input("x", sg.f32[1, 4], (chunks, 8))
        row = g.input("row", sg.f32[1, 4], (chunks, 1))
        g.output(row.expand(x.bufferize(rank=1).promote(0)), "y")
        given = {
            "x": np.zeros((chunks, 8, 1, 4), np.float32),
            "row": np.zeros((chunks, 1, 1, 4), np.float32),
        }
        peaks.add(simulate(g, given, SDA).memory_peak)
    (peak,) = peaks
    assert peak <= (8 + 4 * 2) * tile


@pytest.mark.parametrize("how", ["count", "reference"])
def test_buffers_are_held_until_the_last_copy_of_a_reference_is_read(how: str) -> None:
    copies, tile = 3, 16
    g = sg.Graph("copied")
    x = g.input("x", sg.f32[1, 4], (5, 8))
    refs = x.bufferize(rank=1).promote(0)
    given = {"x": np.zeros((5, 8, 1, 4), np.float32)}
    if how == "count":
        copied = refs.expand(count=copies)
    else:
        copied = refs.expand(g.input("times", sg.f32[1, 1], (5, copies)))
        given["times"] = np.zeros((5, copies, 1, 1), np.float32)
    g.output(copied.streamify(), "y")
    for depth in (1, 2, 9):
        run = Recorded(g, given, replace(SDA, fifo_depth=depth))
        assert run.M[NOW] == 0
        # One chunk is stored while others wait: their copies fill FIFOs, and one is at the head.
        assert simulate(g, given, replace(SDA, fifo_depth=depth)).memory_peak >= 2 * 8 * tile


@pytest.mark.parametrize("depth", [2, 5, 30])
def test_tiles_are_held_in_flight_and_in_fifos(depth: int) -> None:
    g = sg.Graph("waits")
    tensor = g.tensor("t", (4, 8), sg.bf16)
    x = sg.linear_offchip_load(tensor, tile=(4, 8), shape=(20,), stride=(0,))
    slow = x.map(sg.fn.matmul(transpose=True), x)
    g.output(slow, "y")
    machine = replace(SDA, fifo_depth=depth, compute=replace(SDA.compute, flops=1))
    held, result = 4 * 8 * 2, 4 * 4 * 4
    peak = simulate(g, {}, machine).memory_peak
    # In flight, behind the load, and twice in front of the operand.
    waiting = 2 * min(20, depth)
    most = waiting + SDA.tiles_in_flight + depth
    assert waiting * held <= peak <= most * held + result * depth
