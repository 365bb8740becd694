"""Child processes, which are ended when stepgen is interrupted.

Each has its own process group. So Ctrl-C reaches stepgen alone, which then kills the group with
all processes that the child has started.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from stepgen.tools.atomic import uninterrupted

_running: set[subprocess.Popen[str]] = set()
_lock = threading.Lock()


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a program; its process group is killed if it still runs when the block ends.

    Parameters
    ----------
    command : sequence of str or Path
    **options
        As of `subprocess.Popen`.
    """
    words = [str(word) for word in command]
    process: subprocess.Popen[str] | None = None
    try:
        # Interrupted within Popen, it would leave a process that nobody knows.
        with uninterrupted(), _lock:
            process = subprocess.Popen(
                words,
                encoding="utf-8",
                errors="replace",
                **{"stdin": subprocess.DEVNULL, "start_new_session": True, **options},
            )
            _running.add(process)
        yield process
        process.wait()
    finally:
        if process is not None:
            _end(process)
            with _lock:
                _running.discard(process)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    Parameters
    ----------
    command : sequence of str or Path
    **options
        As of `subprocess.Popen`; output is captured unless redirected.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, **{**pipes, **options}) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def end_all() -> None:
    """Kill all running programs, including those that other threads wait for."""
    with _lock:
        for process in _running:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if sys.platform == "win32":
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
