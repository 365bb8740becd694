"""Processes that are forked from one that has loaded all, and tell their result as JSON."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def forked(do: Callable[[], dict[str, Any]], seconds: int | None = None) -> tuple[int, int]:
    """A process that does something, and where its result can be read as JSON.

    After `seconds` of processor time, if any are given, SIGXCPU ends it, or a process that it has
    started and that takes as much.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        quiet = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(quiet, fd)
        os.write(write, json.dumps(do()).encode())
    finally:
        os._exit(0)


def ended(pid: int) -> int:
    """Wait for a process that ends.

    Returns
    -------
    int
        The signal that has ended it, or 0.
    """
    _, status = os.waitpid(pid, 0)
    kill(pid)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def kill(pid: int) -> None:
    """End a process and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def spent() -> float:
    """Processor time of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
