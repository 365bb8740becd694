"""A mistake in one implementation is found, and the failing case gets small."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest
from icarus import needs_icarus, without_reset
from seeds import some_slow

import stepgen as sg
from stepgen.cosim import builds, experiment
from stepgen.cosim.verilator import Simulation
from stepgen.fuzz import structure
from stepgen.fuzz.campaign import shrunk
from stepgen.fuzz.case import Case
from stepgen.fuzz.compare import compare, compare_all
from stepgen.fuzz.draw import case, cases
from stepgen.fuzz.generators.full import Drawn, Scale
from stepgen.fuzz.generators.plain import draw
from stepgen.fuzz.shrink import shrink
from stepgen.hw.design.sharing import SHARED
from stepgen.hw.units.loader.params import Loader
from stepgen.ir.stalls import Stalls
from stepgen.program.inputs import complete
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.design_layout import Run
from stepgen.timing.kernel import STOP_SHIFT
from stepgen.timing.model import CycleModel, Prediction


@pytest.mark.parametrize("number", some_slow(range(40), 8))
def test_faces_agree_without_rtl(number: int) -> None:
    verdict = compare(case(21, number)[0], rtl=False)
    assert verdict.status != "failed", verdict.says


def test_loads_that_share_loaders_are_drawn_and_agree() -> None:
    """They do not wait for levels that nobody reads, which the reference has."""
    scale = Scale(lanes=2)
    program, *_ = draw(10, 1, partial(Drawn, scale=scale), names=("experts",))
    inputs = complete(program.graph, program.inputs, seed=10)
    one = Case(program.graph, inputs, lanes=2, bus=scale.bus, loaders=SHARED)
    assert any(one.experiment().design.of_kind(Loader))
    verdict = compare(one, rtl=False)
    assert verdict.status == "agrees", verdict.says


def test_a_cycle_model_with_a_wrong_level_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though nothing reads the level, and no beat moves in another cycle."""
    g = sg.Graph("levels")
    x = g.input("x", sg.int8[1, 2], (3,))
    g.output(x.promote(0), "y")
    one = Case(g, {"x": [np.zeros((1, 2), np.int8)] * 3}, lanes=2)
    assert compare(one, rtl=False).status == "agrees"

    def sent(run: experiment.Experiment) -> dict[str, Any]:
        found = right(run)
        found["promote_0"][1] += 1 << STOP_SHIFT
        return found

    right = structure.sent
    monkeypatch.setattr(structure, "sent", sent)
    says = compare(one, rtl=False).says
    assert says == "beat 1 of promote_0.0 is VALUE stop 4 in the cycle model, expected VALUE stop 3"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_faces_agree_in_several_runs_on_one_build(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def build(*args: Any, **more: Any) -> Simulation:
        seen.append(right(*args, **more))
        return seen[-1]

    right = builds.build
    monkeypatch.setattr(builds, "build", build)
    drawn, _, _ = cases(23, number, runs=4)
    assert [v.says for v in compare_all(drawn)] == [""] * 4
    assert len(seen) == 1
    assert len({one.dumps() for one in drawn}) == 4
    assert len({one.experiment().design.hash for one in drawn}) == 1


def test_the_run_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CycleModel.predict

    def late(model: CycleModel, run: Run, **more: Any) -> Prediction:
        found = right(model, run, **more)
        return dataclasses.replace(found, cycles=found.cycles + 1) if run.early else found

    monkeypatch.setattr(CycleModel, "predict", late)
    drawn = [dataclasses.replace(small(), early=names) for names in ((), ("x",), ())]
    assert [v.status for v in compare_all(drawn)] == ["agrees", "failed", "agrees"]


def small() -> Case:
    """Rows that become narrower, with more around it than a failure needs."""
    g = sg.Graph("small")
    x = g.input("x", sg.int32[1, 4], (sg.dynamic("N", bound=4),))
    y = x.map(sg.fn.requantize(shift=1)).promote(0).flatten(0, 1)
    one, other = y.fork(2)
    g.output(one, "y")
    g.output(other.promote(), "z")
    data = [np.arange(4, dtype=np.int32).reshape(1, 4) + n for n in range(3)]
    stalls = Stalls(3, {"y": 0.3, "x": 0.3})
    return Case(g, {"x": data}, lanes=2, stalls=stalls, early=("x",), aborts=(0.2,))


def test_a_model_that_stops_where_the_reference_ends_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No depth frees it, but it is not a program that can't end."""

    def stops(*args: Any, **more: Any) -> None:
        raise Deadlock("design small deadlocks", 1, [])

    monkeypatch.setattr(CycleModel, "predict", stops)
    verdict = compare(small())
    assert verdict.status == "failed"
    assert "deadlock at any depth, where the reference ends" in verdict.says


def errors(count: int) -> list[Case]:
    """Runs of a memory for 4 rows, of which some have larger buffers."""
    rng, found = np.random.default_rng(8), []
    for _ in range(count):
        g = sg.Graph("room")
        x = g.input("x", sg.int8[sg.ragged("R", bound=3), 4], ("N", sg.ragged("D", bound=3)))
        g.output(x.bufferize(rank=1, most=4).streamify(count=2), "y")
        most = int(rng.choice([1, 3]))

        def tile(most: int = most) -> Any:
            return rng.integers(-9, 9, (rng.integers(most + 1), 4)).astype(np.int8)

        chunks = [[tile() for _ in range(rng.integers(4))] for _ in range(4)]
        stalls = Stalls(int(rng.integers(99)), {"x": 0.3, "y": 0.3})
        found.append(Case(g, {"x": chunks}, lanes=2, stalls=stalls))
    return found


def test_an_error_of_both_agrees() -> None:
    verdicts = compare_all(errors(12), rtl=False)
    assert {v.status for v in verdicts} == {"agrees"}
    stopped = [v for v in verdicts if v.stops]
    assert 0 < len(stopped) < len(verdicts)
    assert all("stores a buffer of x of " in v.says for v in stopped)


@pytest.mark.slow
def test_an_error_agrees_in_the_circuit_too() -> None:
    verdicts = compare_all(errors(12))
    assert {v.status for v in verdicts} == {"agrees"}
    assert {v.stops for v in verdicts} == {False, True}


def test_an_error_that_the_reference_does_not_have_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (stops,) = [c for c in errors(12) if compare(c, rtl=False).stops][:1]
    monkeypatch.setattr(experiment.Experiment, "reference", True)
    verdict = compare(stops, rtl=False)
    assert verdict.status == "failed"
    assert "stops with an error, where the reference ends: " in verdict.says


def test_a_wrong_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = experiment.Result.beats

    def wrong(self, name, lanes):
        beats = right(self, name, lanes)
        return dataclasses.replace(beats, data=beats.data ^ 1) if name == "y" else beats

    monkeypatch.setattr(experiment.Result, "beats", wrong)
    verdict = compare(small())
    assert verdict.status == "failed"
    assert "y" in verdict.says


def test_a_wrong_cycle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = CycleModel.predict

    def late(*args, **more):
        prediction = right(*args, **more)
        prediction.pushes["promote_0"] = prediction.pushes["promote_0"] + 1
        return prediction

    monkeypatch.setattr(CycleModel, "predict", late)
    verdict = compare(small())
    assert verdict.status == "failed"
    assert "promote_0" in verdict.says


def four_states() -> Case:
    return dataclasses.replace(small(), simulator="icarus")


def test_the_case_says_what_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []

    def simulated(experiments: Any, *_: Any, simulator: str, driver: str, **__: Any) -> Any:
        ran.append((simulator, driver))
        raise sg.StepError("nothing is simulated")

    monkeypatch.setattr("stepgen.fuzz.compare.simulate", simulated)
    for one in (small(), four_states()):
        assert compare(Case.loads(one.dumps(), "the file")).status == "failed"
    assert ran == [("verilator", "cpp"), ("icarus", "cocotb")]


@pytest.mark.slow
@needs_icarus
def test_an_x_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(four_states()).says == ""
    right, change = builds.verilog, without_reset(r"fifo_\d+", "full")
    monkeypatch.setattr(builds, "verilog", lambda *a, **more: change(right(*a, **more)))
    verdict = compare(four_states())
    assert verdict.status == "failed"
    assert "ready is X while the design does not run" in verdict.says


@pytest.mark.slow
def test_depths_that_are_too_small_are_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = experiment.lowered

    def shallow(graph, *, depths, **more):
        design = right(graph, depths=depths, **more)
        least = {c.name: c.delay + 2 for c in design.channels if c.rank is not None}
        return design if depths else design.with_depths(least)

    monkeypatch.setattr(experiment, "lowered", shallow)
    for number in range(120):
        drawn = dataclasses.replace(case(23, number)[0], depths={})
        verdict = compare(drawn, rtl=False)
        if verdict.status == "failed":
            break
    assert verdict.says.startswith("deadlock at derived depths")
    less = shrunk(drawn, verdict, rtl=False)
    assert compare(less, rtl=False).signature == verdict.signature
    assert len(less.graph.nodes) <= len(drawn.graph.nodes)
    assert Case.loads(less.dumps(), "x").dumps() == less.dumps()


def test_what_a_failure_does_not_need_is_gone() -> None:
    less = shrink(small(), lambda c: any(n.op == "flatten" for n in c.graph.nodes))
    assert [n.op for n in less.graph.nodes] == ["source", "flatten", "output"]
    assert less.inputs == {"begun": []}
    assert (less.early, less.aborts, dict(less.stalls.probability)) == ((), (), {})


def test_inputs_that_share_a_dim_get_shorter_together() -> None:
    g = sg.Graph("two")
    n = sg.dynamic("N", bound=6)
    x, sel = g.input("x", sg.int8[1, 4], (n,)), g.input("sel", sg.Selector(2), (n,))
    for part, name in zip(sg.partition(x, sel, rank=0), "ab", strict=True):
        g.output(part, name)
    bits = np.array([[1, 0], [0, 1], [1, 1]] * 2, bool)
    rows = [np.full((1, 4), k, np.int8) for k in range(6)]
    large = Case(g, {"x": rows, "sel": bits}, lanes=4)

    def fails(c: Case) -> bool:
        ops = [node.op for node in c.graph.nodes]
        return "partition" in ops and compare(c, rtl=False).status == "agrees"

    less = shrink(large, fails)
    assert {name: len(value) for name, value in less.inputs.items()} == {"x": 0, "sel": 0}
    assert less.lanes == 1


@pytest.mark.parametrize("seed", range(4))
def test_numbers_that_a_failure_does_not_need_are_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = sg.Graph("load")
    w = g.tensor("w", (12, 16), sg.int8)
    x = g.input("x", sg.int8[1, 4], (2,))
    g.output(sg.linear_offchip_load(w, tile=(12, 16), shape=(1,), stride=(1,), ref=x), "y")
    numbers = rng.integers(-128, 128, (12, 16), np.int8)
    needed = [tuple(rng.integers((12, 16))) for _ in range(2)]
    for place in needed:
        numbers[place] = 3

    def fails(c: Case) -> bool:
        return "w" in c.inputs and all(c.inputs["w"][place] for place in needed)

    less = shrink(Case(g, {"x": np.zeros((2, 1, 4), np.int8), "w": numbers}), fails)
    assert {(*map(int, place),) for place in np.argwhere(less.inputs["w"])} == {*needed}
