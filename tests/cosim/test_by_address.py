"""Programs that access memory by address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.building import LEAST_BUILD
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Bus
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.timing.model import Fault

TILES, PLACES = 9, 7


def gather(count: int, cols: int = 24) -> sg.Graph:
    """Tiles whose numbers lie in memory, at given places; and these numbers."""
    g = sg.Graph("gather")
    table = g.tensor("table", (PLACES, 2), sg.address)
    w = g.tensor("w", (2 * TILES, cols), sg.int8)
    numbers = g.input("at", sg.address[1, 1], (count,)).random_offchip_load(table, tile=(1, 1))
    one, other = numbers.fork(2)
    g.output(one.random_offchip_load(w, tile=(2, cols), name="rows"), "y")
    g.output(other, "numbers")
    return g


def contents(g: sg.Graph, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    (count,) = (d.static for d in g.inputs["at"].shape)
    shape = g.tensors["w"].shape
    return {
        "at": rng.integers(0, 2 * PLACES, (count, 1, 1)),
        "table": rng.integers(0, TILES, (PLACES, 2)),
        "w": rng.integers(-100, 100, shape).astype(np.int8),
    }


@pytest.mark.slow
def test_what_is_read_follows_from_what_was_read(tmp_path: Path) -> None:
    g = gather(20)
    inputs = contents(g, 4)
    stalls = Stalls(3, {"at": 0.2, "y": 0.3, "mem.r": 0.2})
    one = Experiment(g, inputs, bus=Bus(128), stalls=stalls, aborts=(60,))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
    numbers = inputs["table"].ravel()[inputs["at"].ravel()]
    rows = inputs["w"].reshape(TILES, 2, -1)[numbers]
    assert np.array_equal(np.stack(one.reference.nested("y")), rows)


@pytest.mark.parametrize("number", [TILES, 1 << 40])
def test_a_number_in_memory_that_is_no_tile(number: int) -> None:
    """The reference, at the user's line, and the model say so; an output shows all ones."""
    g = gather(5)
    inputs = contents(g, 5)
    inputs["table"][:] = number
    message = rf"rows \(test_by_address.py:\d+\): .* asks for tile {number} of tensor w"
    with pytest.raises(sg.StepError, match=message):
        assert Experiment(g, inputs).prediction

    plain = sg.Graph("plain")
    at = plain.input("at", sg.address[1, 1], (2,))
    w = plain.tensor("w", (TILES, 8), sg.int8)
    plain.output(at.random_offchip_load(w, tile=(1, 8), name="rows"), "y")
    inputs = {"at": [[[TILES - 1]], [[number]]], "w": np.zeros((TILES, 8), np.int8)}
    seen = min(number, 15)
    message = (
        rf"design plain stops in cycle \d+: rows is to read tile {seen} of w, which has 9 tiles"
    )
    with pytest.raises(Fault, match=message):
        assert Experiment(plain, inputs).prediction


@pytest.mark.parametrize("latency", [2, 16, 90])
def test_tiles_cover_the_latency_of_the_memory(latency: int) -> None:
    """Tiles of four words keep the bus busy; those of one as far as the arbiter lets one load."""
    for cols, least in ((32, 0.95), (16, 0.95), (8, 0.47)):
        g = sg.Graph("plain")
        w = g.tensor("w", (TILES, cols), sg.int8)
        g.output(
            g.input("at", sg.address[1, 1], (400,)).random_offchip_load(w, tile=(1, cols)), "y"
        )
        inputs = {"at": np.arange(400).reshape(-1, 1, 1) % TILES, "w": np.ones((TILES, cols), int)}
        bus = Bus(64, outstanding=128, latency=latency)
        memory = MemoryTiming(latency, read_outstanding=64)
        one = Experiment(g, inputs, lanes=8, bus=bus, memory=memory)
        words = one.traffic[0] // 8
        assert words == 400 * cols // 8
        assert words > least * (one.prediction.cycles - latency - 20), (cols, one.prediction.cycles)


def test_addresses_travel_in_one_row() -> None:
    g = sg.Graph("square")
    g.output(g.input("at", sg.address[2, 2], (3,)), "y")
    with pytest.raises(sg.StepError, match="addresses travel in one row, not in tiles of address"):
        lower(g)


def cache(rows: int) -> sg.Graph:
    """Rows are written by address; once all are, tiles of several of them are read.

    Others are written one after the other, as tiles of a dynamic number of rows.
    """
    g = sg.Graph("cache")
    kept, joined = (g.tensor(name, (12, 6), sg.int8) for name in ("kept", "joined"))
    at, x = g.input("at", sg.address[1, 1], (1, 8)), g.input("x", sg.int8[1, 6], (1, 8))
    written = at.random_offchip_store(x, kept, tile=(1, 6))
    all_written = written.map(sg.fn.convert(sg.int8)).accum(sg.fn.add(), rank=1)
    read = sg.linear_offchip_load(kept, tile=(rows, 6), shape=(3,), stride=(1,), ref=all_written)
    g.output(read, "y")
    tiles = g.input("z", sg.int8[1, 6], (3, sg.ragged("D", bound=4)))
    sg.linear_offchip_store(tiles.accum(sg.fn.retile_row(), rank=1), joined)
    return g


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 4])
def test_tiles_of_other_heights_lie_in_the_same_rows(tmp_path: Path, rows: int) -> None:
    g, rng = cache(rows), np.random.default_rng(rows)
    numbers = [rng.integers(-100, 100, (n, 1, 6)).astype(np.int8) for n in (4, 0, 3)]
    inputs = {
        "at": rng.permutation(12)[:8].reshape(1, 8, 1, 1),
        "x": rng.integers(-100, 100, (1, 8, 1, 6)).astype(np.int8),
        "kept": rng.integers(-100, 100, (12, 6)).astype(np.int8),
        "z": [list(group) for group in numbers],
    }
    one = Experiment(g, inputs, stalls=Stalls(3, {"at": 0.5, "x": 0.9, "mem.r": 0.2}))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults


def test_tiles_of_other_widths_do_not() -> None:
    g = sg.Graph("apart")
    kept, at = g.tensor("kept", (12, 8), sg.int8), g.input("at", sg.address[1, 1], (2,))
    g.output(at.random_offchip_load(kept, tile=(2, 8)), "whole")
    g.output(at.random_offchip_load(kept, tile=(2, 4), name="half"), "y")
    with pytest.raises(sg.StepError, match=r"half .* row by row and .* accessed in tiles of 2x4"):
        lower(g)


@pytest.mark.parametrize("how", ["port", "in order", "by address"])
@pytest.mark.parametrize("number", [(1 << 32) - 2, (1 << 32) - 1, 1 << 40])
def test_addresses_that_do_not_fit_the_wires_are_refused(how: str, number: int) -> None:
    g = sg.Graph("large")
    x = g.input("x", sg.address[1, 2], (3,))
    kept = g.tensor("kept", (3, 2), sg.address)
    if how == "port":
        g.output(x, "y")
    elif how == "in order":
        sg.linear_offchip_store(x, kept)
    else:
        g.input("at", sg.address[1, 1], (3,)).random_offchip_store(x, kept, tile=(1, 2))
    inputs = {"x": np.array([[[1, 2]], [[number, 3]], [[4, 5]]], np.uint64), "at": [2, 0, 1]}
    one = Experiment(g, {name: inputs[name] for name in g.inputs})
    if number < (1 << 32) - 1:
        assert one.case().expected is not None
        return
    message = f"{'output y' if how == 'port' else 'tensor kept'} gets the address {number}, but its"
    with pytest.raises(sg.StepError, match=message):
        one.case()


@pytest.mark.slow
def test_a_pass_waits_for_the_end_of_what_triggers_it(tmp_path: Path) -> None:
    """Rows of flags as one tile: its first beat is there long before the last row is written."""
    g = sg.Graph("whole")
    kept = g.tensor("kept", (4, 8), sg.int8)
    at, x = g.input("at", sg.address[1, 1], (1, 3)), g.input("x", sg.int8[1, 8], (1, 3))
    flags = at.random_offchip_store(x, kept, tile=(1, 8)).map(sg.fn.convert(sg.int8))
    ref = flags.accum(sg.fn.retile_row(), rank=1)
    g.output(sg.linear_offchip_load(kept, tile=(1, 8), shape=(4,), stride=(1,), ref=ref), "y")
    inputs = {
        "kept": np.zeros((4, 8), np.int8),
        "at": np.arange(3).reshape(1, 3, 1, 1),
        "x": np.ones((1, 3, 1, 8), np.int8),
    }
    one = Experiment(g, inputs, stalls=Stalls(2, {"x": 0.985}))
    verdict = one.test(tmp_path, driver="cpp", opt=LEAST_BUILD)
    assert verdict.good, verdict.outcome.faults
