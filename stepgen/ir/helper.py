"""Functions that compiled code may call; called from Python they are plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

new_helpers: list[Callable[..., Any]] = []
"""Those that the compiler has not seen yet; `stepgen.timing.compiled` takes them from here."""


def helper(function: F) -> F:
    """Let step functions call a function, compiled as well as interpreted."""
    new_helpers.append(function)
    return function
