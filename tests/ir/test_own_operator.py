"""An operator of a user's own works like one that comes with stepgen."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tile_beats import Recorded, expected

import stepgen as sg
from stepgen.compile.circuit import Circuit
from stepgen.compile.lower import lower
from stepgen.ir import operator
from stepgen.ir.operator import operators
from stepgen.ir.own import OwnOperator
from stepgen.ir.text import dumps, loads
from stepgen.program.tiles import simulate
from stepgen.semantics import executor
from stepgen.timing.tiles.machines import SDA

FILE = Path(__file__).parent / "own_operator.py"


def imported() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_operators", FILE)
    assert spec
    assert spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own() -> Iterator[ModuleType]:
    yield imported()
    del sys.modules["own_operators"]


def program(own: ModuleType) -> tuple[sg.Graph, Any]:
    g = sg.Graph("own")
    x = g.input("x", sg.int8["N", 8], (3, 2))
    g.output(own.lift(x, level=1, name="lifted"), "y")
    rng = np.random.default_rng(1)
    return g, {
        "x": [[rng.integers(-9, 9, (n, 8)) for n in row] for row in ((1, 2), (0, 4), (5, 6))]
    }


def test_type_and_reference(own: ModuleType) -> None:
    g, inputs = program(own)
    assert str(g.node("lifted").outputs[0].shape) == str(g.node("y").inputs[0].shape)
    assert [d.static for d in g.node("y").inputs[0].shape] == [3, 1, 2]
    nested = executor.run(g, inputs).nested("y")
    assert all(np.array_equal(nested[2][0][i], inputs["x"][2][i]) for i in (0, 1))
    assert sg.metrics(g).memory == 0


def test_time_on_tiles(own: ModuleType) -> None:
    g, inputs = program(own)
    y = g.node("y").inputs[0]
    run, reference = Recorded(g, inputs, SDA), executor.run(g, inputs)
    assert run.beats(y) == expected(reference.streams[y.name], y.dtype)


def test_saved_graphs(own: ModuleType) -> None:
    g, _ = program(own)
    assert loads(dumps(g)) == g
    operator.OWN.clear()
    with pytest.raises(sg.StepError, match="there is no operator 'lift'"):
        loads(dumps(g))


def test_a_missing_circuit_or_timing_is_named(own: ModuleType) -> None:
    g = sg.Graph("same")
    g.output(own.same(g.input("x", sg.int8[2, 8], (3,))), "y")
    inputs = {"x": np.zeros((3, 2, 8), int)}
    assert np.array_equal(executor.run(g, inputs).nested("y"), inputs["x"])
    with pytest.raises(sg.StepError, match=r"^same same_0 at .*: this operator has no circuit yet"):
        lower(g)
    with pytest.raises(sg.StepError, match=r"^same_0 \(.*\): same has no timing on tiles$"):
        simulate(g, inputs, SDA)


def test_mistakes_are_reported_at_the_line_of_the_use(own: ModuleType) -> None:
    x = sg.Graph().input("x", sg.int8[2, 8], (3,))
    with pytest.raises(
        sg.StepError, match=r"^lift at test_own_operator.py:\d+: level must be an int"
    ):
        own.lift(x, level=7)
    with pytest.raises(sg.StepError, match=r"^lift at test_own_operator.py:\d+: level must be"):
        own.lift(x, level="high")


def test_a_module_may_be_imported_again(own: ModuleType) -> None:
    again = imported()
    assert own.Lift is not again.Lift
    assert isinstance(operators()["lift"], again.Lift)


@pytest.mark.parametrize(
    ("bases", "lacking"),
    [
        ((OwnOperator,), "__call__, infer, run"),
        ((OwnOperator, Circuit), "__call__, infer, lower, run"),
    ],
)
def test_a_missing_method_is_found_when_the_class_is_defined(bases: Any, lacking: str) -> None:
    message = rf"^the operator Sculpt at test_own_operator.py:\d+ lacks {lacking}$"
    with pytest.raises(sg.StepError, match=message):
        type(OwnOperator)("Sculpt", bases, {})
    assert "sculpt" not in operators()


def test_a_name_is_given_once() -> None:
    message = "the operator Fork at .* would be called fork, as Fork of stepgen.ops.fork is"
    faces = {name: lambda self, x: None for name in ("__call__", "infer", "run")}
    with pytest.raises(sg.StepError, match=message):
        type(OwnOperator)("Fork", (OwnOperator,), faces)
