"""Who evaluates the points of a sweep: this process, several processes, or a Dask cluster."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar

from ..ir.errors import StepError

T = TypeVar("T")
R = TypeVar("R")

CHOICES = "serial, processes, dask, or dask://ADDRESS"


class Executor(Protocol):
    """Applies a function to many items."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Yield the index and the result of every item, in the order in which they are done."""
        ...


@dataclass(frozen=True)
class Serial:
    """One item after the other, in this process."""

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """See `Executor.run`."""
        for index, item in enumerate(items):
            yield index, function(item)


@dataclass(frozen=True)
class Processes:
    """Several processes of this machine.

    Parameters
    ----------
    jobs : int
        How many.
    """

    jobs: int = 2

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """See `Executor.run`."""
        # Spawned, so that no lock of numba or matplotlib is inherited half-way.
        context = multiprocessing.get_context("spawn")
        workers = max(1, min(self.jobs, len(items)))
        pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context)
        others = set(multiprocessing.active_children())
        try:
            with _deaf_to_interrupts():
                waiting = {pool.submit(function, item): i for i, item in enumerate(items)}
            for future in concurrent.futures.as_completed(waiting):
                yield waiting[future], future.result()
        except concurrent.futures.process.BrokenProcessPool:
            raise StepError(
                "a worker process of the sweep ended from outside; run it again, finished points "
                "are kept"
            ) from None
        except (KeyboardInterrupt, GeneratorExit):
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes that start meanwhile never see Ctrl-C, which each would answer with a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Dask:
    """A Dask cluster.

    Parameters
    ----------
    address : str or None
        Of its scheduler, as ``tcp://host:8786``; None makes a cluster on this machine.
    jobs : int
        Workers of a cluster that is made.
    """

    address: str | None = None
    jobs: int = 2

    def run(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        """See `Executor.run`."""
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise StepError(
                "the dask executor needs the extra dask: pip install 'stepgen[dask]'"
            ) from None
        with self._client(distributed) as client:
            waiting = {client.submit(function, item, pure=False): i for i, item in enumerate(items)}
            try:
                for future in distributed.as_completed(list(waiting)):
                    yield waiting[future], future.result()
            finally:
                client.cancel(list(waiting))

    @contextmanager
    def _client(self, distributed: Any) -> Iterator[Any]:
        if self.address is None:
            options = {"n_workers": self.jobs, "threads_per_worker": 1, "dashboard_address": ":0"}
            with (
                distributed.LocalCluster(**options) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = distributed.Client(self.address, timeout="10s")
        except (OSError, ValueError) as error:
            raise StepError(f"no Dask scheduler answers at {self.address}: {error}") from None
        with client:
            yield client


def named(name: str, jobs: int) -> Executor:
    """An executor as the command line names it.

    Parameters
    ----------
    name : str
        ``serial``, ``processes``, ``dask``, or ``dask://host:port`` for a cluster that runs.
    jobs : int
        Processes, or workers of a cluster that is made.

    Raises
    ------
    StepError
        If there is no such executor.
    """
    if name == "serial":
        return Serial()
    if name == "processes":
        return Serial() if jobs == 1 else Processes(jobs)
    if name == "dask":
        return Dask(None, jobs)
    if name.startswith("dask://"):
        return Dask(f"tcp://{name.removeprefix('dask://')}", jobs)
    raise StepError(f"there is no executor {name!r}, only {CHOICES}")
