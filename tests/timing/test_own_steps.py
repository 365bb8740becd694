"""Step functions in a file of a user's own, which programs import under different names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

from stepgen.ir.errors import StepError
from stepgen.timing import compiled
from stepgen.timing.drive import drive
from stepgen.timing.kernel import NEVER, READY, Memory, acted, step
from stepgen.timing.layout import Layout
from stepgen.timing.stepping import Engine, using

STEP = """
from stepgen.timing.kernel import acted, step


@step
def turn(M, a, t):
    M[a] += 1
    return acted(M, t)
"""
MAIN = """
import importlib.util, sys
import numpy as np

spec = importlib.util.spec_from_file_location(sys.argv[1], "turning.py")
module = sys.modules[sys.argv[1]] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
M = np.zeros(32, np.int64)
print(module.turn(M, 20, 7), M[20])
"""


def test_a_step_is_compiled_whatever_its_module_is_called(tmp_path: Path) -> None:
    """As by ``stepgen time turning.py:layer``, and later by ``import turning``."""
    (tmp_path / "turning.py").write_text(STEP)
    for name in ("stepgen_program_turning", "turning_of_a_user"):
        command = [sys.executable, "-c", MAIN, name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.stdout == "8 1\n", done.stderr


@step
def share(M: Memory, a: int, t: int) -> int:
    return acted(M, t) + 1 // (3 - t) // 2


@step
def is_ready(M: Memory, a: int, t: int) -> int:
    return READY if t else acted(M, t + 2)


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
@pytest.mark.parametrize(("function", "cycle"), [(share, 3), (is_ready, 3)])
def test_a_step_that_fails_is_named(function: object, cycle: int, engine: Engine) -> None:
    layout = Layout("program tried")
    layout.actor("u", "divide", function, [], reads=[], writes=[], finishes=True)  # type: ignore[arg-type]
    message = f"program tried: the step of the actor divide of u divides by zero in cycle {cycle},"
    with using(engine), pytest.raises(StepError, match=message):
        drive(layout)


@step
def is_late(M: Memory, a: int, t: int) -> int:
    return acted(M, t) if t < 5 else t - 2


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_wait_for_a_cycle_that_is_over_is_named(engine: Engine) -> None:
    layout = Layout("program tried")
    layout.actor("u", "late", is_late, [], reads=[], writes=[], finishes=True)
    message = "the actor late of u asks in cycle 5 for cycle 3, which is not later: it must return"
    with using(engine), pytest.raises(StepError, match=message):
        drive(layout)


@step
def is_far(M: Memory, a: int, t: int) -> int:
    return acted(M, t) + 99 if t < 1000 else NEVER


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_a_wait_for_a_cycle_that_is_too_far_ahead_is_named(engine: Engine) -> None:
    """Else it would be stepped too early."""
    layout = Layout("program tried")
    layout.actor("u", "far", is_far, [], reads=[], writes=[], finishes=True)
    remedy = r"by layout\.horizon = max\(layout\.horizon, 100\)$"
    message = f"the actor far of u asks in cycle 0 for cycle 100: build must say .*{remedy}"
    with using(engine), pytest.raises(StepError, match=message):
        drive(layout)
    layout.horizon = max(layout.horizon, 100)
    with using(engine):
        assert drive(layout).cycles >= 1000


def half_later(M: Memory, a: int, t: int) -> int:
    return t + 3 / 2  # type: ignore[return-value]


def half_stored(M: Memory, a: int, t: int) -> int:
    M[a] = t / 2  # type: ignore[assignment]
    return NEVER


@pytest.mark.parametrize("function", [half_later, half_stored])
def test_a_step_computes_with_integers(function: FunctionType) -> None:
    """Compiled code would cut what the interpreter would not."""
    line = function.__code__.co_firstlineno + 1
    message = f"{function.__name__} at test_own_steps.py:{line}: it must compute with integers, not"
    with pytest.raises(StepError, match=message):
        step(function)


def test_interpreted_a_step_returns_an_integer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "turned_off", lambda: True)
    layout = Layout("program tried")
    layout.actor("u", "half", step(half_later), [], reads=[], writes=[], finishes=True)
    with pytest.raises(StepError, match=r"half_later at .* returned 1\.5 in cycle 0: it must ret"):
        drive(layout)
