"""Who applies a function to many items: this process, its threads, others, or a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from stepgen.ir.errors import StepError
from stepgen.timing.watch import Watcher, watched, watcher

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """Apply a function to many items.

    Parameters
    ----------
    jobs : int
        Processes or threads of this machine; 1 is this process.
    cluster : str or None
        Address of the scheduler of a Dask cluster, which works instead: ``host:8786``.

    Raises
    ------
    StepError
        If there are less than one, or both are given.
    """

    jobs: int = 1
    cluster: str | None = None

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise StepError(f"jobs must be at least 1, not {self.jobs}")
        if self.cluster is not None and self.jobs != 1:
            raise StepError(
                f"work is done by {self.jobs} processes or by the cluster at {self.cluster}, "
                "not by both"
            )

    def run(
        self, function: Callable[[T], R], items: Sequence[T], *, threads: bool = False
    ) -> Iterator[tuple[int, R]]:
        """Yield the index and the result of every item, in the order in which they are done.

        Parameters
        ----------
        function : function
        items : sequence
        threads : bool
            Whether threads of this process work in place of others: they start at once and share
            what it has, but Python itself runs in one of them at a time.

        Raises
        ------
        StepError
            If the cluster can't be reached, or workers end while they work.
        """
        if self == ALONE:
            yield from ((index, function(item)) for index, item in enumerate(items))
            return
        with self._pool(len(items), threads) as pool:
            with _ignoring_interrupts():
                waiting = {pool.submit(function, item): i for i, item in enumerate(items)}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    yield waiting[future], future.result()
            except (concurrent.futures.BrokenExecutor, concurrent.futures.CancelledError):
                raise StepError("workers ended from outside; run it again") from None

    def _pool(self, items: int, threads: bool) -> Any:
        if self.cluster is not None:
            return _dask(self.cluster)
        return (_threads if threads else _processes)(min(self.jobs, items))


ALONE = Workers()
"""This process."""


@contextmanager
def _processes(jobs: int) -> Iterator[concurrent.futures.Executor]:
    """Processes of this machine, which end with the block."""
    # Spawned, so that no lock of numba or matplotlib is inherited half-way.
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context)
    others = set(multiprocessing.active_children())
    try:
        yield pool
    except BaseException:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _threads(jobs: int) -> Iterator[concurrent.futures.Executor]:
    """Threads of this process, which end with the block."""
    with watched(_Until(watcher())) as until:
        pool = concurrent.futures.ThreadPoolExecutor(jobs)
        try:
            yield pool
        except BaseException:
            until.over = True
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Until(Watcher):
    """Ends the runs of threads, which get no Ctrl-C, once nobody waits for them any more."""

    def __init__(self, shown: Watcher) -> None:
        self.shown = shown
        self.over = False

    def ran(self, cycles: int) -> None:
        """See `Watcher`."""
        if self.over:
            raise concurrent.futures.CancelledError
        self.shown.ran(cycles)

    def compiles(self, functions: int) -> None:
        """See `Watcher`."""
        self.shown.compiles(functions)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes that start meanwhile never see Ctrl-C, which each would answer with a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _dask(address: str) -> Iterator[concurrent.futures.Executor]:
    """A Dask cluster; what it has not begun when the block ends is not begun."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise StepError("a cluster needs the extra dask: pip install 'stepgen[dask]'") from None
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise StepError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        try:
            yield client.get_executor(pure=False)
        except distributed.KilledWorker as error:
            raise StepError(
                f"workers of the cluster at {address} ended while they worked: {error}"
            ) from None
