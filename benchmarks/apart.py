"""Measures something in a process of its own, where nothing else has used memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 10
"""What the peak of a process is counted in, in its own unit of 1 KiB."""


def apart(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function in a fresh process; returns its result and the process's peak in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_called, (function, arguments))


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    result = function(*arguments)
    # Not getrusage: there a process starts with the peak of the one that it was forked from.
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return result, int(peak) / MEGABYTE
