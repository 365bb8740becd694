"""Who is told how far something is that takes long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Watcher:
    """Told what goes on inside the engines, often, in the thread that runs them."""

    def ran(self, cycles: int) -> None:
        """A run has come as far as this cycle."""

    def compiles(self, functions: int) -> None:
        """The engines are being compiled, since no cache has them; so many functions so far."""


_watchers: list[Watcher] = [Watcher()]


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let somebody be told, instead of others, until the block ends."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def watcher() -> Watcher:
    """Who is to be told."""
    return _watchers[-1]
