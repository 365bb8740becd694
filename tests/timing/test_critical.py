"""The critical path of runs: it is whole, and it leads over what the next one waited for."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np
import pytest
from programs import every_unit, every_unit_inputs
from seeds import some_slow

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.program import program
from stepgen.timing.critical import critical_path
from stepgen.timing.states import BUSY, STATES


def path_of(experiment: Experiment):
    return critical_path(experiment.design, experiment.run_of(experiment.known))


def spent(path, unit: str) -> int:
    return sum(span.last - span.first for span in path if span.unit == unit)


@pytest.fixture(scope="module")
def every_design():
    graph = every_unit()
    inputs = every_unit_inputs(np.random.default_rng(0))
    return graph, inputs, Experiment(graph, inputs).design


@pytest.mark.parametrize("seed", some_slow(range(12), 5))
def test_a_span_ends_with_an_action_that_the_next_one_waited_for(every_design, seed):
    """With every unit there is, at drawn timing of the memory, depths and stalls."""
    graph, inputs, design = every_design
    rng = np.random.default_rng(seed)
    design = design.with_depths(
        {c.name: c.depth + int(rng.integers(0, 4)) for c in design.channels if rng.random() < 0.5}
    )
    memory = MemoryTiming(
        read_latency=int(rng.integers(1, 60)), read_interval=int(rng.integers(1, 4))
    )
    stalls = Stalls(seed, {"all": float(rng.choice([0, 0.3, 0.7]))})
    experiment = Experiment(graph, inputs, built=design, memory=memory, stalls=stalls)
    path, prediction = path_of(experiment), experiment.prediction
    assert (path[0].first, path[-1].last) == (0, prediction.cycles)
    assert all(a.last == b.first for a, b in pairwise(path))
    assert all(span.first < span.last for span in path)
    rows = {(a.unit, a.name): a for a in prediction.activities}
    near = {unit.name: {*unit.inputs.values(), *unit.outputs.values()} for unit in design.units}
    for span, after in pairwise(path):
        row = rows[span.unit, span.does]
        state = row.states[bisect_right(row.changes.tolist(), span.last - 1) - 1]
        assert STATES[state] == BUSY, (span, after)
        assert span.unit == after.unit or near[span.unit] & near[after.unit], (span, after)


def small(interval: int = 1, **stalls: float) -> Experiment:
    loaded = program.load("moe", {"tokens": "16", "experts": "2"})
    return Experiment(
        loaded.graph,
        loaded.inputs,
        memory=MemoryTiming(read_interval=interval),
        stalls=Stalls(0, stalls),
    )


def test_a_slow_memory_limits():
    slow, quick = small(interval=16), small()
    path = path_of(slow)
    off_chip = sum(spent(path, unit) for unit in ("mem", "memory"))
    assert off_chip > 0.8 * slow.prediction.cycles
    lost = slow.prediction.cycles - quick.prediction.cycles
    assert off_chip - sum(spent(path_of(quick), u) for u in ("mem", "memory")) > 0.8 * lost


@pytest.mark.parametrize("end", ["x", "y"])
def test_a_stream_that_stalls_limits(end):
    """The producer at one end, or the consumer at the other."""
    g = sg.Graph("passed")
    x = g.input("x", sg.int8[1, 8], (200,))
    g.output(x.map(sg.fn.scale(2)).map(sg.fn.scale(3)), "y")
    inputs = {"x": np.zeros((200, 1, 8), np.int8)}
    experiment = Experiment(g, inputs, stalls=Stalls(0, {end: 0.9}))
    assert spent(path_of(experiment), end) > 0.9 * experiment.prediction.cycles
