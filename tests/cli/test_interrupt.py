"""Ctrl-C ends every long command with all its child processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepgen.cli.app import INTERRUPTED

HANGS = 300
"""Seconds after which a test fails; no result depends on it."""

LONG = [
    # Compiled loops
    ("time p.py:layer --stall x=0.999999999", "predicting, .* cycles so far"),
    ("test p.py:layer --latency 2000000000", "predicting, .* cycles so far"),
    ("demo --set tokens=4 --set experts=2 --latency 2000000000", "predicting, .* cycles so far"),
    ("simulate p.py:layer --change memory.latency=1000000000", "simulating, .* cycles so far"),
    ("figure 9 --view fair", "timing programs"),
    ("figure 9 --view fair -j 2", "timing programs"),
    # Python
    ("run p.py:layer --set rows=3000000", "running"),
    ("time p.py:layer --set rows=3000000", "predicting"),
    # Other programs, which are to be ended too
    ("test p.py:layer --latency 90000000 --driver cpp", "simulating"),
    ("test p.py:layer --latency 90000000 --driver cocotb", "simulating"),
]


@pytest.mark.parametrize(("line", "moment"), LONG, ids=[line for line, _ in LONG])
def test_ctrl_c_ends_a_command(here: Path, line: str, moment: str) -> None:
    own = {"STEPGEN_CACHE": str(here / "cache")} if line.startswith("figure") else {}
    assert _interrupted(here, line, moment, own, signal.SIGINT) == INTERRUPTED


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_a_command(here: Path, number: signal.Signals) -> None:
    line = "simulate p.py:layer --change memory.latency=1000000000"
    assert _interrupted(here, line, "simulating", {}, number) == 128 + number


def test_the_compiler_ends_too(here: Path) -> None:
    own = {"STEPGEN_CACHE": str(here / "cache")}
    line = "test p.py:layer --driver cpp"
    assert _interrupted(here, line, r"compiling C\+\+", own, signal.SIGINT) == INTERRUPTED
    assert not list(here.rglob("simulation.json"))


def _interrupted(
    folder: Path, line: str, moment: str, own: dict[str, str], number: signal.Signals
) -> int:
    """Exit code of a command that gets a signal as soon as it says `moment`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stepgen", *line.split()],
        cwd=folder,
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    )
    guard = threading.Timer(HANGS, process.kill)
    guard.start()
    try:
        assert process.stderr is not None
        said = []
        for text in process.stderr:
            said.append(text)
            if re.search(moment, text):
                break
        assert process.poll() is None, said
        process.send_signal(number)
        out, err = process.communicate()
    finally:
        guard.cancel()
    assert process.returncode >= 0, "it had to be killed"
    assert out == ""
    assert "Traceback" not in err
    assert not list(_processes(folder))
    left = {p.relative_to(folder).parts[0] for p in folder.rglob("*") if p.is_file()}
    assert left <= {"p.py", "cache", "__pycache__"}
    return process.returncode


def _processes(folder: Path) -> Iterator[str]:
    """Command lines of processes that work in a folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has just ended, or is another user's
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            at_work = os.readlink(entry / "cwd")
            own = entry.name == str(os.getpid())
            if not own and (str(folder) in words or at_work.startswith(str(folder))):
                yield words
