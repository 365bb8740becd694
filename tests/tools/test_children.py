"""Child processes end with stepgen, whenever it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from stepgen.tools import children

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture(autouse=True)
def interruptible():
    """As in a terminal, however the tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("late", [False, True])
def test_one_that_starts_just_when_ctrl_c_comes_ends_too(monkeypatch, late):
    made = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self)
            if not late:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt), children.started(SLEEPS):
        os.kill(os.getpid(), signal.SIGINT)
    (process,) = made
    assert process.returncode == -signal.SIGKILL


def test_what_it_has_started_ends_too(tmp_path):
    code = f"import subprocess, sys; p = subprocess.Popen({SLEEPS!r}); print(p.pid, flush=True)"
    command = [sys.executable, "-c", f"{code}; p.wait()"]
    found: list[psutil.Process] = []

    def interrupted() -> None:
        with children.started(command, stdout=subprocess.PIPE) as process:
            found.append(psutil.Process(int(process.stdout.readline())))
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    _, alive = psutil.wait_procs(found, timeout=20)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)
