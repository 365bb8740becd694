"""What surrounds a command: variables of other tools, a stderr without room, long names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from seeds import some_slow

START = [sys.executable, "-m", "stepgen"]
LONGEST = 255
"""Bytes of the longest name of a file on usual file systems."""

DRAW = """
from pathlib import Path
from stepgen.report.canvas import new_figure

figure = new_figure(figsize=(1, 1))
figure.subplots()
figure.savefig(Path("figure.png"))

import matplotlib, os
print(matplotlib.rcParams["backend"], os.environ["MPLBACKEND"])
"""


@pytest.mark.parametrize(
    ("asked", "found"),
    some_slow(
        [
            ("module://matplotlib_inline.backend_inline", None),
            ("nonsense", None),
            ("svg", "svg"),  # a program of the user's gets what it asks for
        ],
        1,
    ),
)
def test_figures_need_no_backend(tmp_path: Path, asked: str, found: str | None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAW],
        env={**os.environ, "MPLBACKEND": asked},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    backend, kept = done.stdout.split()
    assert kept == asked
    assert backend == found or found is None
    assert (tmp_path / "figure.png").stat().st_size


@pytest.mark.parametrize("command", some_slow(["time", "simulate"], 1))
def test_without_a_compiler_runs_are_interpreted(command: str) -> None:
    done = subprocess.run(
        [*START, command, "moe", "--set", "tokens=2", "--set", "experts=2"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert " cycles" in done.stdout


@pytest.mark.parametrize(
    ("words", "code"), some_slow([("show nope", 2), ("run recipes:relu", 0)], 1)
)
def test_a_stderr_without_room_changes_nothing(words: str, code: int) -> None:
    line = [*START, *words.split()]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=full, text=True, check=False)
    assert done.returncode == code
    assert bool(done.stdout) == (code == 0)


@pytest.mark.parametrize(
    ("option", "suffix"),
    [("run -o", ".npz"), ("run --save-inputs", ".npz"), ("time --perfetto", ".json")],
)
def test_names_may_be_as_long_as_they_can(stepgen, option: str, suffix: str) -> None:
    command, flag = option.split()
    name = "n" * (LONGEST - len(suffix)) + suffix
    said = stepgen(f"{command} p.py:layer {flag} {name}")
    assert said.code == 0, said.err
    assert Path(name).stat().st_size
    said = stepgen(f"{command} p.py:layer {flag} n{name}")
    assert said.code == 2
    assert said.err.endswith("File name too long\n")
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_names_of_folders_may_be_as_long(stepgen) -> None:
    name = "n" * LONGEST
    said = stepgen(f"verilog p.py:layer -o {name}")
    assert said.code == 0, said.err
    assert Path(name, "design.json").exists()
    assert {path.name for path in Path().iterdir()} >= {name, "p.py"}


PROGRAM = """
import stepgen as sg


def dims(count: int):
    g = sg.Graph("dims")
    g.output(g.input("x", sg.int8[1, 4], (1,) * count), "y")
    return g


async def later():
    return dims(1)


def at_once():
    return later()


def long(where: str = "shape"):
    g = sg.Graph("long")
    shape = (2**63,) if where == "shape" else (2, [2**63])
    g.output(g.input("x", sg.int8[1, 4], shape), "y")
    return g
"""


@pytest.mark.parametrize("command", ["show", "metrics", "run", "time", "simulate", "show --design"])
def test_every_command_takes_as_many_dims(stepgen, here, command: str) -> None:
    (here / "q.py").write_text(PROGRAM)
    said = stepgen(f"{command} q.py:dims --set count=30")
    assert said.code == 0, said.err
    said = stepgen(f"{command} q.py:dims --set count=31")
    assert said.code == 2
    assert "q.py:7 would have 31 dims, but a stream can have 30 at most" in said.err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["later", "at_once"])
def test_an_async_program_is_reported_in_one_sentence(stepgen, here, name: str) -> None:
    (here / "q.py").write_text(PROGRAM)
    said = stepgen(f"show q.py:{name}")
    assert (said.code, said.out) == (2, "")
    assert (
        said.err
        == f"stepgen: q.py:{name} is an async function, which is not called here: write def\n"
    )


def test_an_integer_in_a_shape_that_is_too_long_is_reported(stepgen, here) -> None:
    (here / "q.py").write_text(PROGRAM)
    said = stepgen("show q.py:long")
    assert "shape must be a sequence, each of them an integer of at most 63 bits or" in said.err
