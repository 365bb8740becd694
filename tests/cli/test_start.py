"""The entry points of the command, and what the shell may do to its streams."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import sys

import pytest
from seeds import some_slow

START = [sys.executable, "-m", "stepgen"]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_module_is_the_command(stepgen, option) -> None:
    said = stepgen(option)
    assert said.code == 0
    assert said.out.startswith("stepgen ")
    done = subprocess.run([*START, option], capture_output=True, text=True, check=True)
    assert done.stdout == said.out


COMPLETING = """
eval "$(stepgen --show-completion bash)"
complete -p stepgen > /dev/null || exit 1
compopt() { echo "$2"; }  # bash has it only while it completes
COMP_WORDS=($WORDS) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_stepgen_completion stepgen
echo "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "completed"),
    some_slow(
        [
            ("stepgen sim", "simulate"),
            ("stepgen time moe --perfetto fir", "default"),  # names of files
            ("stepgen show fir", "default"),
            ("stepgen time moe --max", "--max-cycles"),
            ("stepgen run moe --save", "--save-inputs"),
        ],
        1,
    ),
)
def test_the_shell_completes(tmp_path, words, completed) -> None:
    command = tmp_path / "stepgen"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(START)} "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", COMPLETING],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "WORDS": words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [completed], done.stderr


def test_standard_streams_may_be_closed() -> None:
    line = " ".join([*START, "metrics", "moe", "--set", "tokens=2", "<&- >&- 2>&-"])
    assert subprocess.run(["sh", "-c", line], check=False).returncode == 0


@pytest.mark.parametrize("option", some_slow(["", "--json"], 1))
def test_output_that_has_no_room_is_reported(tmp_path, option) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    line = [*START, "metrics", "moe", "--set", "tokens=2", *option.split()]
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run(
            line, stdout=out, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=no_room
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(": File too large")
    assert "Traceback" not in done.stderr


def test_a_reader_may_have_seen_enough() -> None:
    line = [*START, "show", "moe", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as show:
        assert show.stdout is not None
        assert show.stderr is not None
        assert show.stdout.read(1) == "{"
        show.stdout.close()
        assert show.stderr.read() == ""
    assert show.returncode == 0


HALF_MADE = """
from amaranth.lib.memory import Memory
from stepgen.cli import main

def no_room(self, *args, **kwargs):
    raise MemoryError

Memory.__init__ = no_room
main(["verilog", "moe", "--set", "tokens=2", "--set", "experts=2"])
"""


@pytest.mark.slow
def test_no_warning_about_a_circuit_whose_elaboration_failed(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HALF_MADE], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == [
        "stepgen: there is not enough memory for this program with these settings"
    ]


HEAVY = {
    *("amaranth", "matplotlib", "ml_dtypes", "mpmath", "networkx", "numba", "numpy", "psutil"),
    *("rich", "sympy", "wasmtime"),
}
"""Libraries that take a while to load."""
LOADED = """
import sys
from stepgen.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


@pytest.mark.parametrize(
    ("words", "used"),
    some_slow(
        [
            ("--help", set()),
            ("show --nosuch", set()),
            ("metrics gelu", {"ml_dtypes", "numpy", "rich"}),
            ("simulate gelu", {"ml_dtypes", "numpy", "rich"}),
            ("show --help", set()),
            ("show gelu", {"ml_dtypes", "numpy"}),
            (
                "report gelu --no-luts",
                {"ml_dtypes", "networkx", "numpy", "psutil", "rich", "wasmtime"},
            ),
        ],
        3,
    ),
)
def test_a_command_loads_what_it_uses(tmp_path, words, used) -> None:
    line = [sys.executable, "-c", LOADED, *words.split()]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == (2 if "nosuch" in words else 0)
    assert HEAVY & set(done.stdout.splitlines()[-1].split()) == used
