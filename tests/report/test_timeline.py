"""Which rows of a run are drawn, and what they show."""

from __future__ import annotations

import json

import numpy as np
import pytest
from matplotlib.axes import Axes

from stepgen.program import program
from stepgen.program.tiles import simulate
from stepgen.report import timeline
from stepgen.timing.activity import Activity
from stepgen.timing.states import STATES
from stepgen.timing.tiles.machines import SDA


@pytest.fixture(scope="module")
def swiglu():
    loaded = program.load("swiglu", {"batch": "8", "tile_batch": "4"}, tensors=False)
    return loaded.graph, simulate(loaded.graph, loaded.inputs, SDA)


def test_one_row_per_operator_that_matters(swiglu):
    graph, run = swiglu
    seen = timeline.of_run("swiglu", run, graph)
    main = [n for n in graph.nodes if n.face.is_main]
    assert {a.unit for a in seen.activities} == {n.name for n in main}
    assert len(seen.activities) == len(main)
    assert seen.left_out == 0
    assert {a.name for a in seen.activities} >= {"matmul", "silu", "deliver", "main"}


def test_the_busiest_rows_are_kept_in_the_order_of_the_program(swiglu):
    graph, run = swiglu
    every = timeline.of_run("swiglu", run, graph)
    few = timeline.of_run("swiglu", run, graph, most=3)
    assert few.left_out == len(every.activities) - 3
    least = min(a.busy for a in few.activities)
    shown = [a.unit for a in few.activities]
    assert all(a.busy <= least for a in every.activities if a.unit not in shown)
    assert shown == [a.unit for a in every.activities if a.unit in shown]
    assert len(timeline.of_run("swiglu", run, graph, every=True, most=99).activities) == len(
        run.activities
    )


def test_activities_add_up(swiglu):
    _, run = swiglu
    for a in run.activities:
        assert a.busy + a.starved + a.full == run.cycles
        points = np.append(np.minimum(a.changes, run.cycles), run.cycles)
        spent = [np.diff(points)[a.states == state].sum() for state in range(len(STATES))]
        assert [a.busy, a.full] == [spent[0], spent[2]]


def test_shares():
    activity = Activity("u", "main", 5, 3, 2, np.array([2, 6, 8]), np.array([0, 2, 0]))
    shares = timeline.shares(activity, np.array([0.0, 4.0, 10.0]))
    assert shares[:, 0].tolist() == [0.5, 0.5, 0.0]
    assert np.allclose(shares[:, 1], [4 / 6, 0, 2 / 6])


@pytest.mark.parametrize("period", [2, 3, 5, 7, 10, 13, 17, 20])
def test_what_alternates_faster_than_columns_is_shown_as_its_mean(period):
    """Columns of 10 cycles: no pattern that is not there, and blocks keep their edges."""
    cycles = 10_000
    ticks = np.arange(0, cycles // 2, period)
    changes = np.stack([ticks, ticks + 1], axis=1).ravel()
    states = np.tile([0, 1], len(ticks))
    changes, states = np.append(changes, [6000, 8000]), np.append(states, [0, 1])
    activity = Activity("u", "main", 0, 0, 0, changes, states)
    works = timeline._columns(activity, np.linspace(0, cycles, cycles // 10 + 1))[0]
    assert np.ptp(works[5:490]) < 0.04
    assert abs(works[5:490].mean() - 1 / period) < 0.01
    assert works[510:595].max() < 1e-9
    assert works[605:795].min() > 1 - 1e-9
    assert np.allclose(timeline._columns(activity, np.linspace(0, cycles, 1001)).sum(axis=0), 1)


def test_a_column_of_a_timeline_is_a_pixel(swiglu, tmp_path, monkeypatch):
    """Pictures that are drawn in another number of columns get stripes from leaving some out."""
    graph, run = swiglu
    widths = []

    def imshow(axes, picture, **more):
        widths.append((axes.get_window_extent().width, picture.shape[1]))

    monkeypatch.setattr(Axes, "imshow", imshow)
    timeline.draw(tmp_path / "t.png", [timeline.of_run("one", run, graph)])
    ((pixels, columns),) = widths
    assert columns == min(round(pixels), run.cycles)


def test_perfetto(swiglu, tmp_path):
    graph, run = swiglu
    seen = timeline.of_run("swiglu", run, graph)
    timeline.perfetto(tmp_path / "t.json", seen)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    worked = dict.fromkeys(range(1, len(seen.activities) + 1), 0)
    for event in events:
        if event["name"] == "busy":
            worked[event["tid"]] += event["dur"]
    assert list(worked.values()) == [a.busy for a in seen.activities]


def test_pictures_say_what_is_left_out(swiglu, tmp_path):
    graph, run = swiglu
    few = timeline.of_run("few", run, graph, most=2)
    timeline.draw(tmp_path / "t.svg", [few, timeline.of_run("all", run, graph, every=True)])
    assert (tmp_path / "t.svg").stat().st_size > 0
    assert timeline._heading(few).endswith(f"cycles, {few.left_out} less busy rows left out")
