"""Runs of one cycle model: each is as it is alone, whatever the ones before it were."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

import stepgen as sg
from stepgen.compile.lower import lower
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Design
from stepgen.hw.units.sink.params import Sink
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.stalls import Stalls
from stepgen.timing import model
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.design_layout import Run
from stepgen.timing.drive import Driven
from stepgen.timing.layout import Layout
from stepgen.timing.model import CycleModel, Fault, Prediction

LIMIT = 20_000
TILES, RUNS = 5, 6

Inputs = Callable[[int], dict[str, Any]]


def drawn(rng: np.random.Generator, graph: sg.Graph) -> dict[str, Any]:
    """Memory, stalls and early streams of a run."""
    names = [*graph.ports, "mem.ar", "mem.r"]
    late = {name: int(rng.integers(0, 30)) for name in graph.inputs if rng.random() < 0.3}
    shares = {name: float(rng.choice([0, 0.3, 0.7])) for name in names}
    return {
        "memory": MemoryTiming(
            read_latency=int(rng.integers(1, 60)),
            read_interval=int(rng.integers(1, 4)),
            read_outstanding=int(rng.integers(1, 9)),
        ),
        "stalls": Stalls(int(rng.integers(99)), shares, late),
        "early": tuple(name for name in graph.inputs if rng.random() < 0.3),
    }


def centered(rng: np.random.Generator) -> tuple[sg.Graph, Inputs]:
    """Groups of rows minus their sum: a FIFO that holds a group is too shallow for long ones."""
    g = sg.Graph("centered")
    x = g.input("x", sg.int8[1, 4], (2, sg.ragged("R", bound=6)))
    total = x.accum(sg.fn.add(), rank=1)
    g.output(x.map(sg.fn.sub(), total.promote(0).expand(ref=x, rank=1)), "y")
    return g, lambda run: {"x": [[*rng.integers(-9, 9, (n, 1, 4))] for n in (run % 4 + 3, run % 3)]}


def gathered(rng: np.random.Generator) -> tuple[sg.Graph, Inputs]:
    """Tiles by number, where some runs ask for one that is not there, which is an error."""
    g = sg.Graph("gathered")
    w = g.tensor("w", (TILES, 8), sg.int8)
    at = g.input("at", sg.address[1, 1], (4,))
    g.output(at.random_offchip_load(w, tile=(1, 8)), "y")
    return g, lambda run: {"at": rng.integers(0, TILES, (4, 1, 1)) + TILES * (run % 3 == 1)}


def chosen(rng: np.random.Generator) -> tuple[sg.Graph, Inputs]:
    """Data decide which way a row goes, and time in which order rows come back."""
    g = sg.Graph("chosen")
    x = g.input("x", sg.int8[1, 4], (6,))
    ways = sg.partition(x, x.map(sg.fn.top_k(1)), rank=0)
    for name, stream in zip("yz", sg.eager_merge(ways, rank=0), strict=True):
        g.output(stream, name)
    return g, lambda run: {"x": rng.integers(-9, 9, (6, 1, 4))}


MAKERS = {maker.__name__: maker for maker in (centered, gathered, chosen)}
DEPTHS = {"centered": {"x_to_map_0": 4}}


@cache
def made(name: str) -> tuple[Design, list[Run]]:
    """A design, and runs of it."""
    rng = np.random.default_rng(0)
    graph, inputs = MAKERS[name](rng)
    design, runs = lower(graph, depths=DEPTHS.get(name, {})), []
    for run in range(RUNS):
        one = Experiment(graph, inputs(run), built=design, **drawn(rng, graph))
        runs.append(one.run_of(one.known))
    return design, runs


def outcome(predict: Callable[[], Prediction]) -> Any:
    """All that a run comes to, or how it stops."""
    try:
        one = predict()
    except Deadlock as stop:
        return str(stop), stop.remedy, all_of(stop.stopped)
    except Fault as stop:
        return str(stop), stop.code, stop.detail, all_of(stop.stopped)
    except sg.StepError as error:
        return str(error)
    return all_of(one)


def all_of(one: Prediction | None) -> Any:
    assert one is not None
    moves = {name: (one.pushes[name].tolist(), one.pops[name].tolist()) for name in one.pushes}
    states = [
        (a.unit, a.name, a.busy, a.starved, a.full, a.changes.tolist(), a.states.tolist())
        for a in one.activities
    ]
    return one.cycles, moves, states, one.choices, one.beats.tolist()


@cache
def alone(name: str) -> list[Any]:
    """What each run is alone."""
    design, runs = made(name)
    return [outcome(lambda run=run: CycleModel(design).predict(run, limit=LIMIT)) for run in runs]


def check(name: str, order: Iterable[int]) -> None:
    """Check that in this order each run is as it is alone."""
    design, runs = made(name)
    one = CycleModel(design)
    for number in order:
        run, expected = runs[number], alone(name)[number]
        assert outcome(lambda run=run: one.predict(run, limit=LIMIT)) == expected
        if isinstance(expected[0], int):
            totals = one.totals(run, limit=LIMIT)
            assert (totals.cycles, totals.beats.tolist()) == (expected[0], expected[-1])


@pytest.mark.parametrize("name", MAKERS)
def test_a_run_is_as_it_is_alone_in_any_order(name: str) -> None:
    check(name, [*range(RUNS), *reversed(range(RUNS))])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("centered", "deadlocks in cycle .*; a depth of"), ("gathered", "stops in cycle")],
)
def test_runs_that_stop_are_among_those_that_end(name: str, kind: str) -> None:
    design, runs = made(name)
    one, stopped = CycleModel(design), []
    for run, expected in zip(runs, alone(name), strict=True):
        stopped.append(isinstance(expected[0], str))
        if stopped[-1]:
            with pytest.raises(sg.StepError, match=kind) as stop:
                one.totals(run, limit=LIMIT)
            assert str(stop.value) == expected[0]
    first, last = stopped.index(False), RUNS - stopped[::-1].index(False)
    assert any(stopped[first:last])


def test_the_limit_of_cycles_is_that_of_each_run() -> None:
    design, runs = made("chosen")
    one = CycleModel(design)
    for run in runs:
        cycles = one.predict(run).cycles
        assert one.totals(run, limit=cycles).cycles == cycles
        with pytest.raises(sg.StepError, match=f"takes more than {cycles - 1} cycles, the limit"):
            one.totals(run, limit=cycles - 1)


@pytest.mark.parametrize("name", MAKERS)
def test_a_state_that_is_not_reset_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As if runs worked on the array that all of them begin with."""
    drive = model.drive

    def worn(layout: Layout, **more: Any) -> Driven:
        ran = drive(layout, **more)
        layout._begun[:] = ran.M[: len(layout._begun)]
        return ran

    assert alone(name)
    monkeypatch.setattr(model, "drive", worn)
    with pytest.raises(AssertionError):
        check(name, range(RUNS))


def test_a_model_that_reads_the_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    design, (run, *_) = made("gathered")
    monkeypatch.setattr(Sink, "per_run", False)
    with pytest.raises(
        sg.StepError, match=r"the cycle model of sink y reads layout\.run, .* per_run"
    ):
        CycleModel(design).predict(run)
