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
from seeds import some_slow

from stepgen.tools.starting import INTERRUPTED

HANGS = 300
"""Seconds after which a test fails; no result depends on it."""

LONG = [
    # Compiled loops
    ("time p.py:layer --stall x=0.999999999", "predicting, .* cycles so far"),
    ("figure 9 --view fair -j 2", "timing programs"),
    # Python
    ("run p.py:layer --set rows=3000000", "running"),
    # Other programs, which are to be ended too
    ("test p.py:layer --latency 90000000 --driver cocotb", "simulating"),
    # The same of other commands
    ("simulate p.py:layer --change memory.latency=1000000000", "simulating, .* cycles so far"),
    ("test p.py:layer --latency 2000000000", "predicting, .* cycles so far"),
    ("demo --set tokens=4 --set experts=2 --latency 2000000000", "predicting, .* cycles so far"),
    ("figure 9 --view fair", "timing programs"),
    ("time p.py:layer --set rows=3000000", "predicting"),
    ("test p.py:layer --latency 90000000 --driver cpp", "simulating"),
]


@pytest.mark.parametrize(("line", "moment"), some_slow(LONG, 3), ids=[line for line, _ in LONG])
def test_ctrl_c_ends_a_command(here: Path, line: str, moment: str) -> None:
    own = {"STEPGEN_CACHE": str(here / "cache")} if line.startswith("figure") else {}
    assert _interrupted(here, line, moment, own, signal.SIGINT) == INTERRUPTED


@pytest.mark.parametrize("number", some_slow([signal.SIGTERM, signal.SIGHUP], 1))
def test_other_signals_end_a_command(here: Path, number: signal.Signals) -> None:
    line = "simulate p.py:layer --change memory.latency=1000000000"
    assert _interrupted(here, line, "simulating", {}, number) == 128 + number


LOADED = ("stepgen.ir", "numpy", "stepgen.cli", "click")


@pytest.mark.parametrize("module", LOADED)
def test_ctrl_c_ends_a_command_that_is_still_loading(here: Path, module: str) -> None:
    """The module sends the signal to its own process, as soon as it is looked for."""
    (here / "sitecustomize.py").write_text(LOADING.format(module=module))
    code, out, err = _started(here, "show p.py:layer")
    # What a command loads itself ends with a new line, behind the ^C of the terminal.
    assert (code, out, err.strip()) == (INTERRUPTED, "", "")


def test_ctrl_c_ends_a_command_that_is_ending(here: Path) -> None:
    (here / "p.py").write_text(ENDING + (here / "p.py").read_text())
    code, out, err = _started(here, "show p.py:layer")
    assert code == INTERRUPTED
    assert "layer" in out
    assert "Traceback" not in err


def test_a_command_that_is_done_is_not_killed(here: Path) -> None:
    (here / "p.py").write_text(DONE + (here / "p.py").read_text())
    code, out, err = _started(here, "show p.py:layer")
    assert code == 0
    assert "layer" in out
    assert "Traceback" not in err


@pytest.mark.parametrize("program", ["DESTROYED", "EXECUTED"])
def test_ctrl_c_is_not_lost(here: Path, program: str) -> None:
    (here / "p.py").write_text(globals()[program])
    assert _started(here, "show p.py:layer")[:2] == (INTERRUPTED, "")


LOADING = """
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""

ENDING = """
import atexit, os, signal

@atexit.register
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
"""

DONE = """
import os, signal, sys

class Last:
    def __del__(self, kill=os.kill, own=os.getpid(), number=signal.SIGINT):
        kill(own, number)

sys.last = Last()
"""

DESTROYED = """
import os, signal, time

signal.signal(signal.SIGINT, signal.default_int_handler)

class Part:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

def layer():
    Part()
    time.sleep(60)
"""


EXECUTED = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
exec("import os; os.kill(os.getpid(), signal.SIGINT)")
"""


def _started(folder: Path, line: str) -> tuple[int, str, str]:
    """Exit code and texts of a command, with the folder's own modules."""
    done = subprocess.run(
        [sys.executable, "-m", "stepgen", *line.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    )
    return done.returncode, done.stdout, done.stderr


REPLACED = """
import signal
# What has started the tests may ignore it, as a shell does for what runs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
from stepgen.cli import app

def command(words):
    try:
        signal.raise_signal(signal.{name})
        signal.pause()
    except KeyboardInterrupt:
        pass
    raise TypeError("missing argument")

app._run = command
app.main([])
"""


@pytest.mark.parametrize("name", some_slow(["SIGINT", "SIGTERM"], 1))
def test_another_exception_in_place_of_the_interrupt(name: str) -> None:
    """Compiled code that is interrupted may raise what it will."""
    line = [sys.executable, "-c", REPLACED.format(name=name)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stderr) == (128 + getattr(signal, name), "")


@pytest.mark.slow
def test_the_compiler_ends_too(here: Path) -> None:
    own = {"STEPGEN_CACHE": str(here / "cache")}
    line = "test p.py:layer --driver cpp"
    assert _interrupted(here, line, r"compiling C\+\+", own, signal.SIGINT) == INTERRUPTED
    assert not list(here.rglob("made.json"))


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
