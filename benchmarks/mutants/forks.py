"""Processes that are forked from one that has loaded all, and tell their result as JSON."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def forked(do: Callable[[], dict[str, Any]]) -> tuple[int, int]:
    """A process that does something, and where its result can be read as JSON."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(quiet, fd)
        os.write(write, json.dumps(do()).encode())
    finally:
        os._exit(0)


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
