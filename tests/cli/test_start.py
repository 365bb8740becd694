"""The ways into the command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

START = [sys.executable, "-m", "stepgen"]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_module_is_the_command(stepgen, option) -> None:
    told = stepgen(option)
    assert told.code == 0
    assert told.out.startswith("stepgen ")
    done = subprocess.run([*START, option], capture_output=True, text=True, check=True)
    assert done.stdout == told.out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("stepgen sim", "simulate"),
        ("stepgen time moe --max", "--max-cycles"),
        ("stepgen run moe --save", "--save-inputs"),
    ],
)
def test_the_shell_completes(words, completed) -> None:
    asked = {
        "_STEPGEN_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        START, env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert completed in done.stdout.split()
