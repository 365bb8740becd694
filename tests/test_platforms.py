"""Commands that need no compiler use nothing that macOS or Windows lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepgen.program.design_folder import MANIFEST

ROOT = Path(__file__).parents[1]

WITHOUT = """
import sys

import psutil  # is made for each system

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
import os, signal

for module, names in {
    os: ("fork", "forkpty", "getuid", "killpg", "mkfifo", "openpty", "setsid", "sysconf"),
    signal: ("SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1"),
}.items():
    for name in names:
        delattr(module, name)
"""
"""Takes away what Windows has not, before anything else is imported."""

PROGRAM = """
import stepgen as sg

def layer(rows: int = 4):
    g = sg.Graph("layer")
    x = g.input("x", sg.int8[1, 8], (rows,))
    g.output(x.map(sg.fn.convert(sg.f32)).map(sg.fn.gelu()), "y")  # größer
    return g
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with a program, where Python lacks what Windows does and uses another encoding."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "p.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PATH", "")  # no compiler, make or perl
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    return tmp_path


def called(*words):
    command = [sys.executable, "-X", "warn_default_encoding", "-m", "stepgen", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_commands_run_without_posix(elsewhere):
    for line in ("show", "run", "time", "metrics", "simulate", "verilog -o made --host --wrap axi"):
        command, *options = line.split()
        done = called(command, "p.py:layer", *options)
        assert done.returncode == 0, done.stderr
        own = [text for text in done.stderr.splitlines() if "EncodingWarning" in text]
        assert not [text for text in own if f"{ROOT / 'stepgen'}{os.sep}" in text]
    assert (elsewhere / "made" / MANIFEST).exists()


def test_what_windows_lacks_is_really_gone(elsewhere):
    code = "import signal, os; print(hasattr(signal, 'SIGHUP'), hasattr(os, 'sysconf'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_types_hold_on_other_systems(platform, tmp_path):
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
