"""Depths by start times for the rates of a run, judged by the exact model."""

from __future__ import annotations

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.scheduled import scheduled
from stepgen.program import program
from stepgen.timing.deadlock import Deadlock


def less_maximum(scores: sg.Stream) -> sg.Stream:
    """Rows less their largest number: two ways that meet again."""
    return scores.map(sg.fn.sub(), scores.map(sg.fn.row_max()))


def test_rows_at_a_steady_rate_need_what_the_schedule_says() -> None:
    graph = sg.Graph()
    graph.output(less_maximum(graph.input("x", sg.f32[1, 64], (4,))), "y")
    found = scheduled(Experiment(graph, {"x": np.ones((4, 1, 64), np.float32)}))
    assert isinstance(found.scheduled, int)
    assert found.cycles < found.scheduled
    assert found.bits[1] < found.bits[0]
    (straight,) = (fifo for fifo in found.fifos if fifo.name == "x_to_map_1")
    assert 16 <= straight.scheduled < straight.derived


def test_rows_that_come_in_bursts_deadlock_by_start_times_alone() -> None:
    graph = sg.Graph()
    x, w = (graph.input(n, sg.bf16[t], (2,)) for n, t in (("x", (4, 16)), ("w", (16, 32))))
    graph.output(less_maximum(x.map(sg.fn.matmul(), w)), "y")
    given = {"x": np.ones((2, 4, 16), np.float32), "w": np.ones((2, 16, 32), np.float32)}
    found = scheduled(Experiment(graph, given))
    assert isinstance(found.scheduled, Deadlock)
    assert found.scheduled.remedy == {"map_0_to_map_2": 8}
    (straight,) = (fifo for fifo in found.fifos if fifo.freed is not None)
    assert straight.name == "map_0_to_map_2"
    assert straight.scheduled < straight.freed == 8 <= straight.derived
    assert found.confirmed is not None
    assert found.confirmed > found.cycles


def test_a_loop_has_no_schedule() -> None:
    loaded = program.load("models:gpt2", {"cache": "4", "tile": "4"})
    with pytest.raises(
        sg.StepError, match=r"has no schedule by start times: .* in a cycle of unit"
    ):
        scheduled(Experiment(loaded.graph, loaded.inputs))
