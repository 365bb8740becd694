"""Progress callbacks of the timing engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar


class Watcher:
    """Receives the progress of the engines, often, in the thread that runs them."""

    def ran(self, cycles: int) -> None:
        """A run has reached this cycle."""

    def compiles(self, functions: int) -> None:
        """The engines are being compiled, since no cache has them; `functions` are done so far."""


_watchers: list[Watcher] = [Watcher()]


W = TypeVar("W", bound=Watcher)


@contextmanager
def watched(watcher: W) -> Iterator[W]:
    """Make `watcher` the current one until the block ends."""
    _watchers.append(watcher)
    try:
        yield watcher
    finally:
        _watchers.remove(watcher)


def watcher() -> Watcher:
    """The current watcher."""
    return _watchers[-1]
