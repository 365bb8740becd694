"""Progress on stderr during long commands, and the limit of cycles of a run."""

from __future__ import annotations

import pytest

from stepgen.cli.app import app
from stepgen.hw.units.fork.model import copy
from stepgen.timing import compiler
from stepgen.timing.watch import watcher
from stepgen.tools import waiting

RUNS = {
    "time": "time p.py:layer",
    "lanes": "lanes p.py:layer",
    "report": "report p.py:layer -o r.html --no-luts",
    "compare": "compare p.py:layer p.py:layer --no-luts",
    "test": "test p.py:layer",
    "verilog": "verilog p.py:layer --bench",
    "demo": "demo --set tokens=4 --set experts=2",
    "simulate": "simulate p.py:layer",
    "figure": "figure 8 --view fair",
}


def test_every_command_that_runs_in_cycles_has_a_limit() -> None:
    limited = {
        name
        for name, command in app.commands.items()
        if any("--max-cycles" in parameter.opts for parameter in command.params)
    }
    assert limited == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_ends_at_the_limit(stepgen, here, monkeypatch, name) -> None:
    monkeypatch.setenv("STEPGEN_CACHE", str(here / "cache"))
    said = stepgen(f"{RUNS[name]} --max-cycles 9")
    assert said.code == 2
    assert said.out == ""
    assert "takes more than 9 cycles, the limit" in said.err.splitlines()[-1]
    assert not [path for path in (here / "build").rglob("*") if path.is_file()]


@pytest.mark.parametrize("limit", ["0", "-1", "9" * 30, "x", "1.5"])
def test_a_limit_is_a_number(stepgen, limit) -> None:
    said = stepgen(f"time p.py:layer --max-cycles {limit}")
    assert said.code == 2
    assert "--max-cycles" in said.err or "limit of cycles must be within" in said.err


@pytest.mark.parametrize("quiet", [False, True])
def test_compiling_is_reported_once_on_stderr(capsys, quiet) -> None:
    with waiting.progress(quiet=quiet) as tell:
        tell("predicting", 0.0)
        for functions in range(5):
            watcher().compiles(functions)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ([] if quiet else ["predicting"]) + [waiting.COMPILING]


def test_a_log_shows_how_far_a_run_is_less_and_less_often(capsys, monkeypatch) -> None:
    now = 0.0
    monkeypatch.setattr(waiting, "now", lambda: now)
    with waiting.progress() as tell:
        tell("predicting (1/2)", 0.0)
        for second in range(40):
            now = float(second)
            watcher().ran(1000 * second)
        tell("predicting (2/2)", 0.5)
        tell("drawing", 0.9)
    err = capsys.readouterr().err.splitlines()
    lines = [f"predicting, {n},000 cycles so far" for n in (2, 5, 10, 19, 36)]
    assert err == ["predicting", *lines, "drawing"]


def test_a_log_shows_the_share_of_a_long_step(capsys, monkeypatch) -> None:
    now = 0.0
    monkeypatch.setattr(waiting, "now", lambda: now)
    with waiting.progress() as tell:
        for tenth in range(11):
            now = tenth / 2
            tell("loading tensors", tenth / 10)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["loading tensors", "loading tensors, 30%", "loading tensors, 80%"]


def test_what_numba_compiles_is_reported(capsys) -> None:
    import numba

    compiler.step(copy, "copy")  # which sets up the compiler
    with waiting.progress(quiet=True):
        numba.njit(lambda x: x + 1)(1)
    assert capsys.readouterr().err.splitlines() == [waiting.COMPILING]


def test_the_library_prints_no_progress(capsys) -> None:
    watcher().ran(9)
    watcher().compiles(9)
    assert capsys.readouterr() == ("", "")
