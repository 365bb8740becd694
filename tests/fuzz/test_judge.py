"""The judge finds what is wrong in one face, and the failing case gets small."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import stepgen as sg
from stepgen.cosim import experiment
from stepgen.fuzz.campaign import shrunk
from stepgen.fuzz.case import Case
from stepgen.fuzz.draw import case
from stepgen.fuzz.judge import judge
from stepgen.fuzz.shrink import shrink
from stepgen.ir.stalls import Stalls


@pytest.mark.parametrize("number", range(40))
def test_faces_agree_without_rtl(number: int) -> None:
    verdict = judge(case(21, number)[0], rtl=False)
    assert verdict.status != "failed", verdict.says


@pytest.mark.parametrize("number", range(3))
def test_faces_agree(number: int) -> None:
    verdict = judge(case(22, number)[0])
    assert verdict.status == "agrees", verdict.says


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
    return Case(g, {"x": data}, lanes=2, stalls=stalls, early=("x",), aborts=(4,))


def test_a_wrong_value_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = experiment.executor.Result.beats

    def wrong(self, name, lanes):
        beats = right(self, name, lanes)
        return dataclasses.replace(beats, data=beats.data ^ 1) if name == "y" else beats

    monkeypatch.setattr(experiment.executor.Result, "beats", wrong)
    verdict = judge(small())
    assert verdict.status == "failed"
    assert "y" in verdict.says


def test_a_wrong_cycle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = experiment.predict

    def late(*args, **more):
        prediction = right(*args, **more)
        prediction.pushes["promote_0"] = prediction.pushes["promote_0"] + 1
        return prediction

    monkeypatch.setattr(experiment, "predict", late)
    verdict = judge(small())
    assert verdict.status == "failed"
    assert "promote_0" in verdict.says


def test_depths_that_are_too_small_are_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = experiment.lower

    def shallow(graph, *, depths, **more):
        design = right(graph, depths=depths, **more)
        least = {c.name: c.delay + 2 for c in design.channels if c.rank is not None}
        return design if depths else design.with_depths(least)

    monkeypatch.setattr(experiment, "lower", shallow)
    failed = []
    for number in range(120):
        drawn = dataclasses.replace(case(23, number)[0], depths={})
        verdict = judge(drawn, rtl=False)
        if verdict.status == "failed":
            failed.append((drawn, verdict))
    assert failed
    drawn, verdict = failed[0]
    assert verdict.says.startswith("deadlock at derived depths")
    less = shrunk(drawn, verdict, rtl=False)
    assert judge(less, rtl=False).signature == verdict.signature
    assert len(less.graph.nodes) <= len(drawn.graph.nodes)
    assert Case.loads(less.dumps(), "x").dumps() == less.dumps()


def test_what_a_failure_does_not_need_is_gone() -> None:
    less = shrink(small(), lambda c: any(n.op == "flatten" for n in c.graph.nodes))
    assert [n.op for n in less.graph.nodes] == ["source", "flatten", "output"]
    assert less.inputs == {"begun": []}
    assert (less.early, less.aborts, dict(less.stalls.probability)) == ((), (), {})
