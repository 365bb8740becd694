"""Sweeps evaluate each point once, save it at once, and agree for all workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepgen.ir.errors import StepError
from stepgen.study import sweep
from stepgen.study.point import Point
from stepgen.tools.workers import Workers

POINTS = [Point("square", {"n": n}) for n in (3, 1, 2, 3)]


def square(point):
    """Stands in for the engine; other processes import it from here."""
    return {"cycles": point.options["n"] ** 2}


class Counting:
    """Counts evaluations, and fails or is interrupted at one of them."""

    def __init__(self, at=None, error=None):
        self.seen = []
        self.at, self.error = at, error

    def __call__(self, point):
        if len(self.seen) == self.at:
            raise self.error
        self.seen.append(point.options["n"])
        return square(point)


def test_results_come_in_order_and_equal_points_are_evaluated_once(tmp_path):
    count = Counting()
    found = sweep.sweep(POINTS, evaluate=count, place=tmp_path)
    assert [n["cycles"] for n in found] == [9, 1, 4, 9]
    assert count.seen == [3, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StepError("this point is odd")])
def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path, error):
    first, second = Counting(2, error), Counting()
    with pytest.raises(type(error)):
        sweep.sweep(POINTS, evaluate=first, place=tmp_path)
    assert first.seen == [3, 1]
    found = sweep.sweep(POINTS, evaluate=second, place=tmp_path)
    assert second.seen == [2]
    assert [n["cycles"] for n in found] == [9, 1, 4, 9]


def test_a_damaged_result_is_made_again(tmp_path):
    sweep.sweep(POINTS, evaluate=square, place=tmp_path)
    (tmp_path / f"{POINTS[1].key}.json").write_text('{"numbers"')
    count = Counting()
    sweep.sweep(POINTS, evaluate=count, place=tmp_path)
    assert count.seen == [1]


def test_progress_is_reported_for_every_point(tmp_path):
    reports = []
    sweep.sweep(
        POINTS, evaluate=square, place=tmp_path, progress=lambda *said: reports.append(said)
    )
    assert [share for _, share in reports] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert reports[-1][0] == "timing programs (3/3)"


def test_results_belong_to_the_version_of_the_sources():
    assert len(sweep.sources()) == 20
    assert sweep.folder().name == sweep.sources()


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address.removeprefix("tcp://")


@pytest.mark.parametrize("jobs", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_give_what_this_one_gives(tmp_path, jobs):
    serial = sweep.sweep(POINTS, evaluate=square, place=tmp_path / "a")
    other = sweep.sweep(POINTS, workers=Workers(jobs), evaluate=square, place=tmp_path / "b")
    assert other == serial


@pytest.mark.slow
def test_a_cluster_gives_what_this_one_gives(tmp_path, cluster):
    serial = sweep.sweep(POINTS, evaluate=square, place=tmp_path / "a")
    workers = Workers(cluster=cluster)
    assert sweep.sweep(POINTS, workers=workers, evaluate=square, place=tmp_path / "b") == serial


def odd(point):
    """Some points can't be evaluated."""
    if point.options["n"] == 2:
        raise StepError("this point is odd")
    return square(point)


def ends(item):
    """End like a process that the system kills for lack of memory."""
    os._exit(item)


@pytest.mark.slow
def test_an_error_is_that_of_one_process(tmp_path, cluster):
    for workers in (Workers(2), Workers(cluster=cluster)):
        with pytest.raises(StepError, match=r"^this point is odd$"):
            sweep.sweep(POINTS, workers=workers, evaluate=odd, place=tmp_path)


def test_workers_that_end_are_reported():
    with pytest.raises(StepError, match="workers ended from outside; run it again"):
        list(Workers(2).run(ends, [3, 3]))


def slow(item):
    """Reports that it runs, and then runs for long."""
    Path(item).touch()
    time.sleep(60)


@pytest.mark.slow
def test_an_interrupt_ends_the_processes_at_once(tmp_path):
    """As on a terminal, every process of the group gets the signal; only one may speak."""
    marks = [str(tmp_path / name) for name in "ab"]
    script = (
        "from stepgen.tools.workers import Workers; from test_sweep import slow\n"
        f"if __name__ == '__main__': list(Workers(2).run(slow, {marks!r}))"
    )
    (tmp_path / "main.py").write_text(script)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    run = subprocess.Popen(
        [sys.executable, str(tmp_path / "main.py")],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    )
    for _ in range(1000):
        if all(Path(mark).exists() for mark in marks):
            break
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=50)
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1
    assert "SpawnProcess" not in said


def test_a_missing_dask_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(StepError, match=r"^a cluster needs the extra dask: .*"):
        list(Workers(cluster="host:8786").run(square, POINTS))


def test_processes_and_a_cluster_exclude_each_other():
    with pytest.raises(StepError, match=r"^work is done by 2 processes or by the cluster at h:1, "):
        Workers(2, "h:1")
