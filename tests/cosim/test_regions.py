"""Requests to whichever region is free, and chunks that overtake each other in a loop, as RTL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.transforms import parallelize
from stepgen.cosim.experiment import Experiment, simulate
from stepgen.cosim.verilator import LEAST_BUILD
from stepgen.fuzz.generators import loops
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import MEMORY_CHANNELS, Stalls
from stepgen.semantics import executor

COUNT, COLS, LONGEST = 9, 8, 12


def requests() -> sg.Graph:
    """Each request: rows times a matrix that is loaded for it; the largest of every column."""
    g = sg.Graph("requests")
    x = g.input("x", sg.int8[1, COLS], (COUNT, sg.ragged("N", bound=LONGEST)))
    w = g.tensor("w", (COLS, COLS), sg.int8)
    tile = x.accum(sg.fn.retile_row(), rank=1)
    loaded = sg.linear_offchip_load(w, tile=(COLS, COLS), shape=(1,), stride=(1,), ref=tile)
    y = tile.map(sg.fn.matmul(), loaded.flatten(0, 1)).map(sg.fn.requantize(shift=6))
    rows = y.flat_map(sg.fn.retile_streamify("row"), rank=1)
    g.output(rows.accum(sg.fn.maximum(), rank=1), "y")
    return g


def contents(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, LONGEST], COUNT)
    return {
        "x": [[*rng.integers(-128, 128, (n, 1, COLS)).astype(np.int8)] for n in lengths],
        "w": rng.integers(-128, 128, (COLS, COLS)).astype(np.int8),
    }


@pytest.mark.slow
@pytest.mark.parametrize("in_flight", [1, 2])
def test_the_region_that_is_free_gets_the_next_request(in_flight: int, tmp_path: Path) -> None:
    """Results in order, whatever the order of completions; runs that are aborted too."""
    new = parallelize(requests(), regions=3, in_flight=in_flight)
    made, orders = [], set()
    for seed, share in enumerate((0.0, 0.3, 0.7)):
        inputs = new.inputs(contents(seed))
        stalls = Stalls(seed, dict.fromkeys(("x", "y", *MEMORY_CHANNELS), share))
        aborts = (20, 90)[:seed]
        memory = MemoryTiming(1 + 20 * seed)
        made.append(Experiment(new.graph, inputs, memory=memory, stalls=stalls, aborts=aborts))
        plain = executor.run(requests(), contents(seed), lanes=made[-1].lanes)
        assert np.array_equal(made[-1].reference.nested("y"), plain.nested("y"))
        orders.add(tuple(made[-1].prediction.choices["regions_done"]))
    assert len(orders) > 1
    for verdict in simulate(made, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


def sparse() -> sg.Graph:
    """Of each row, the sum of the rows of a table whose numbers lie in memory."""
    g = sg.Graph("sparse")
    ranges = g.input("ranges", sg.address[1, 2], (COUNT,))
    columns = g.tensor("columns", (COUNT * LONGEST, 1), sg.address)
    table = g.tensor("table", (5, COLS), sg.int8)
    numbers = ranges.flat_map(sg.fn.span(LONGEST), rank=1)
    at = sg.random_offchip_load(numbers, columns, tile=(1, 1))
    g.output(sg.random_offchip_load(at, table, tile=(1, COLS)).accum(sg.fn.add(), rank=1), "y")
    return g


@pytest.mark.slow
def test_addresses_from_memory_follow_the_request_to_its_region(tmp_path: Path) -> None:
    """Which region reads them depends on time, and the time on them."""
    new, made = parallelize(sparse(), regions=3), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        lengths = rng.choice([0, 1, 2, LONGEST], COUNT)
        given = {
            "ranges": np.stack([lengths.cumsum() - lengths, lengths], 1).reshape(COUNT, 1, 2),
            "columns": rng.integers(0, 5, (COUNT * LONGEST, 1)),
            "table": rng.integers(-9, 9, (5, COLS)).astype(np.int8),
        }
        memory = MemoryTiming(1 + 7 * seed)
        made.append(Experiment(new.graph, new.inputs(given), memory=memory))
        plain = executor.run(sparse(), given, lanes=made[-1].lanes)
        assert np.array_equal(made[-1].reference.nested("y"), plain.nested("y"))
    for verdict in simulate(made, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults


@pytest.mark.slow
def test_chunks_that_overtake_each_other_in_a_loop(tmp_path: Path) -> None:
    """One run behind the other; the loop drains and ends."""
    turns = next(t for t in map(loops.drawn, range(99)) if t.ways and len(t.leaving) > 12)
    graph, inputs = loops.loop(turns)
    names = [*graph.inputs, *graph.outputs]
    made = [
        Experiment(graph, inputs, lanes=2, stalls=Stalls(seed, dict.fromkeys(names, share)))
        for seed, share in enumerate((0.0, 0.5, 0.0))
    ]
    for verdict in simulate(made, tmp_path, driver="cpp", opt=LEAST_BUILD):
        assert verdict.good, verdict.outcome.faults
