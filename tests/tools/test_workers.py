"""Who applies a function to many items."""

from __future__ import annotations

import threading

import pytest

from stepgen.timing.watch import watcher
from stepgen.tools.workers import Workers


def test_threads_share_what_this_process_has() -> None:
    seen: list[int] = []
    found = dict(Workers(3).run(lambda n: seen.append(n) or n * n, range(9), threads=True))
    assert found == {n: n * n for n in range(9)}
    assert sorted(seen) == [*range(9)]


def test_threads_end_their_runs_after_ctrl_c() -> None:
    """Python raises it in the main thread alone."""
    begun = threading.Event()

    def endless(number: int) -> None:
        while number:
            begun.set()
            watcher().ran(0)
        begun.wait()

    others = threading.active_count()
    done = Workers(2).run(endless, [0, 1, 2], threads=True)
    next(done)
    with pytest.raises(KeyboardInterrupt):
        done.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert threading.active_count() == others
