"""Measures something in a process of its own, where nothing else has used memory."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from typing import Any

MEGABYTE = 1 << 10
"""What the peak of a process is counted in, in its own unit of 1 KiB."""


def apart(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Call a function in a fresh process; returns its result and the process's peak in MB."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_called, (function, arguments))


def _called(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    result = function(*arguments)
    return result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE
