"""What happens in each cycle of a test bench: all drivers act, and a run begins and ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import cocotb
from cocotb.task import Task
from cocotb.triggers import Event, FallingEdge

START_LIMIT = 1000


class Driver(Protocol):
    """What acts once per cycle."""

    def step(self, cycle: int) -> None:
        """Act in a cycle of a run."""

    def rest(self) -> None:
        """Act in a cycle in which the design does not run."""


class Clocked:
    """Lets drivers act in every cycle, and follows the runs of the design.

    Parameters
    ----------
    dut : handle
        With ``clk``, ``running`` and ``cycle``.
    drivers : sequence of Driver
    start_limit : int
        Cycles in which a run must begin.
    ends : callable, optional
        Whether the run of a design without registers, which never ends by itself, is over.
    """

    def __init__(
        self,
        dut: Any,
        drivers: Sequence[Driver],
        start_limit: int = START_LIMIT,
        ends: Callable[[], bool] | None = None,
    ):
        self._dut, self._drivers = dut, drivers
        self._start_limit, self._ends = start_limit, ends
        self._over = Event()
        self._over.set()
        self._limit = 0
        self._status, self._length = "done", 0
        self._task: Task[None] = cocotb.start_soon(self._drive())

    def cancel(self) -> None:
        """Let the drivers act no more."""
        self._task.cancel()

    async def play(self, start: Awaitable[None], limit: int) -> tuple[str, int]:
        """Start a run and wait for its end, or for its cycle `limit`.

        Parameters
        ----------
        start : awaitable
            Starts the run.
        limit : int

        Returns
        -------
        status : str
            done, hang or not started.
        cycles : int
            Of the run so far.
        """
        self._limit, self._status = limit, "done"
        self._over.clear()
        await start
        await self._over.wait()
        return self._status, self._length

    def _end(self, status: str, length: int) -> None:
        self._status, self._length = status, length
        self._over.set()

    async def _drive(self) -> None:
        tick, running = FallingEdge(self._dut.clk), self._dut.running
        started, waited, cycle = False, 0, -1
        while True:
            await tick
            if not running.value:
                for driver in self._drivers:
                    driver.rest()
                if started:
                    started = False
                    if not self._over.is_set():
                        self._end("done", int(self._dut.cycle.value))
                elif not self._over.is_set():
                    waited += 1
                    if waited == self._start_limit:
                        self._end("not started", 0)
                continue
            if not started:
                started, waited = True, 0
                cycle = int(self._dut.cycle.value) - 1
            cycle += 1
            for driver in self._drivers:
                driver.step(cycle)
            if self._over.is_set():
                continue
            if self._ends is not None and self._ends():
                self._end("done", cycle + 1)
            elif cycle >= self._limit:
                self._end("hang", cycle)
