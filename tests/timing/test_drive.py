"""The loop around the kernel: slices change no result, progress is reported, limits are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import example
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.program.tiles import simulate
from stepgen.timing import layout, stepping
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.design_layout import DesignLayout
from stepgen.timing.drive import TooLong
from stepgen.timing.kernel import WHEEL_MASK
from stepgen.timing.tiles.machines import SDA, SDA_HBM2
from stepgen.timing.watch import Watcher, watched

GRAPH, INPUTS = example("moe").moe(tokens=4, experts=2, width=8, hidden=8, columns=8)


class Seen(Watcher):
    """Records the progress that it gets."""

    def __init__(self) -> None:
        self.cycles: list[int] = []

    def ran(self, cycles: int) -> None:
        self.cycles.append(cycles)


def predicted(**more: Any) -> Any:
    return Experiment(GRAPH, INPUTS, stalls=Stalls(1, {"mem.r": 0.5}), **more).prediction


SLOW_MEMORY = MemoryTiming(read_latency=150, read_interval=70, write_latency=90, write_interval=80)


def test_waits_beyond_the_wheel_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An actor asks again in between."""
    whole = predicted(memory=SLOW_MEMORY)
    monkeypatch.setattr(layout, "FAR", 8)
    again = predicted(memory=SLOW_MEMORY)
    assert whole.cycles == again.cycles
    for name in whole.pushes:
        np.testing.assert_array_equal(whole.pushes[name], again.pushes[name])
        np.testing.assert_array_equal(whole.pops[name], again.pops[name])
    assert repr(whole.activities) == repr(again.activities)


def test_the_wheel_does_not_grow_with_the_latency() -> None:
    slowest = Experiment(GRAPH, INPUTS, memory=MemoryTiming(2**31 - 1, read_interval=2**31 - 1))
    run = slowest.run_of(slowest.known)
    M = DesignLayout(slowest.design).of_run(run).build()
    assert M[WHEEL_MASK] < 1 << 16


@pytest.mark.parametrize(
    ("looks", "few"), some_slow([(50, 1e9), (1000, 1e-9), (50, 1e-9), (5, 1e-9)], 2)
)
def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch, looks: int, few: float) -> None:
    """Neither those of one engine, nor that a run begins with one and goes on with the other."""
    whole, on_tiles = predicted(), simulate(GRAPH, INPUTS, SDA_HBM2)
    for name in ("FIRST", "SHORT", "SLICE"):
        monkeypatch.setattr(stepping, name, looks)
    monkeypatch.setattr(stepping, "FEW", few)
    monkeypatch.setattr(stepping, "_interpreted", 0.0)
    monkeypatch.setenv("STEPGEN_BACKGROUND", "0")
    seen = Seen()
    with watched(seen):
        sliced = predicted()
        reports = len(seen.cycles)
        again = simulate(GRAPH, INPUTS, SDA_HBM2)
    assert reports > 1 or looks == 1000
    assert sliced.cycles == whole.cycles
    for name, pushes in whole.pushes.items():
        np.testing.assert_array_equal(sliced.pushes[name], pushes)
        np.testing.assert_array_equal(sliced.pops[name], whole.pops[name])
        assert sliced.counters(name) == whole.counters(name)
    assert again.cycles == on_tiles.cycles
    assert again.choices == on_tiles.choices
    np.testing.assert_array_equal(again.trace.entries, on_tiles.trace.entries)
    assert seen.cycles[:reports] == sorted(seen.cycles[:reports])


def test_a_run_that_notes_much_reports_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel returns to Python when its log is full, long before its slice ends."""
    monkeypatch.setattr(layout, "LOG_WORDS", 64)
    monkeypatch.setattr(stepping, "SHORT", 1 << 40)
    seen = Seen()
    with watched(seen):
        cycles = predicted().cycles
    assert len(seen.cycles) > 5
    assert seen.cycles[-1] <= cycles


def test_a_run_may_take_just_its_cycles() -> None:
    cycles = predicted().cycles
    assert predicted(max_cycles=cycles).cycles == cycles
    with pytest.raises(TooLong, match=rf"design \w+ takes more than {cycles - 1:,} cycles"):
        predicted(max_cycles=cycles - 1)
    cycles = simulate(GRAPH, INPUTS, SDA).cycles
    assert simulate(GRAPH, INPUTS, SDA, limit=cycles).cycles == cycles
    with pytest.raises(TooLong, match=rf"program \w+ on sda takes more than {cycles - 1:,} cycles"):
        simulate(GRAPH, INPUTS, SDA, limit=cycles - 1)


@pytest.mark.parametrize("limit", [0, -1, 2.5, True, "9", 1 << 41])
def test_a_limit_is_a_number_of_cycles(limit: Any) -> None:
    with pytest.raises(sg.StepError, match=r"limit (of cycles )?must be (within 1|an integer)"):
        simulate(GRAPH, INPUTS, SDA, limit=limit)


def test_a_deadlock_is_reported_although_what_frees_it_takes_too_long() -> None:
    g = sg.Graph()
    x = g.input("x", sg.int8[1, 4], (40,))
    late = x.promote().accum(sg.fn.retile_row(), rank=1)
    rows = late.flat_map(sg.fn.retile_streamify("row"), rank=0)
    g.output(x.zip(rows.flatten(0, rows.rank)), "y")
    inputs = {"x": np.zeros((40, 1, 4), np.int8)}
    with pytest.raises(Deadlock) as stuck:
        simulate(g, inputs, SDA, limit=1 << 30)
    with pytest.raises(Deadlock, match="deadlocks in cycle"):
        simulate(g, inputs, SDA, limit=stuck.value.cycle + 1)


def test_counters_of_a_long_run_take_no_memory_of_its_length() -> None:
    rare = Experiment(GRAPH, INPUTS, stalls=Stalls(1, {"mem.r": 0.99999})).prediction
    assert rare.cycles > 1_000_000
    for channel in rare.design.channels:
        counted = rare.counters(channel.name)
        levels = np.zeros(rare.cycles + 1, np.int64)
        np.add.at(levels, np.minimum(rare.pushes[channel.name] + 1, rare.cycles), 1)
        np.add.at(levels, np.minimum(rare.pops[channel.name] + 1, rare.cycles), -1)
        assert counted["full"] == np.sum(np.cumsum(levels)[:-1] == channel.depth)
