"""A run of a design on a board, which goes on where a lost link is found again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepgen.board.ports import Port
from stepgen.cosim.payload import Rows
from stepgen.hw.board.protocol import WORD, Space
from stepgen.hw.design.registers import (
    CYCLES,
    DONE,
    END,
    READ_BEATS,
    RUNNING,
    START,
    STATUS,
    STOPPING,
    WRITE_BEATS,
)
from stepgen.tools.waiting import Progress, quiet

if TYPE_CHECKING:
    from stepgen.board.session import Session

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
"""Seconds between looks at a run that moves nothing: each is longer than the last one."""

LONGEST_WAIT, SHARE = 1.0, 0.9
"""Seconds between looks at a run whose end is foreseen, and the share of the time until then."""

QUIET = 1.0
"""Seconds in which nothing moves before a run of unknown length is given up, at least."""


@dataclass
class Running:
    """One run.

    Parameters
    ----------
    session : Session
    sources, sinks : list of Port
        Sources with all their beats.
    limit : int
        Cycles after which the run is given up; where its length is unknown, those in which nothing
        moves.
    cycles : int or None
        Predicted length.
    about : int or None
        Length that is foreseen, of a run whose beats all fit the buffers: the link is left alone
        until then.
    expected : mapping of str to int
        Beats of outputs, where they are known: a run that gives a buffer more is given up.

    Attributes
    ----------
    registers : dict of int to int
        Control registers by address, as last seen.
    seconds : float
        That the host waited for it.
    """

    session: Session
    sources: list[Port]
    sinks: list[Port]
    limit: int
    cycles: int | None = None
    about: int | None = None
    expected: Mapping[str, int] = field(default_factory=dict)
    registers: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    _asked: bool = False

    def end(self, progress: Progress = quiet) -> str:
        """Run, or go on behind a link that was lost; ``"done"``, ``"hang"`` or ``"not started"``.

        A run is started once: only a board that has not been asked, or has not heard it, is asked.
        """
        begun = time.monotonic()
        if not self._asked:
            self.session.reset()
            for port in self.sources:
                port.moved = 0
                port.feed(empty=True)
            self._asked = True
            self.session.control(START.mask)
        elif not self._look() & (RUNNING.mask | STOPPING.mask | DONE.mask):
            self.session.control(START.mask)
        else:
            for port in self.sources:
                port.agree(feeds=True)
            for port in self.sinks:
                port.agree(feeds=False)
        progress("running", 0.0)
        try:
            return self._follow(progress)
        finally:
            self.seconds += time.monotonic() - begun

    @property
    def outputs(self) -> dict[str, Rows]:
        """Payloads that have come, by port."""
        return {port.port.name: port.beats for port in self.sinks}

    @property
    def taken(self) -> int:
        """Cycles of the run, so far."""
        low, high = (self.registers[offset] for offset in CYCLES.offsets)
        return low | high << 32

    def _look(self) -> int:
        """Read the registers; the status."""
        words = self.session.link.read(
            Space.REGISTERS, STATUS.offset // WORD, (END - STATUS.offset) // WORD
        )
        self.registers |= {STATUS.offset + WORD * k: word for k, word in enumerate(words)}
        return self.registers[STATUS.offset]

    def _follow(self, progress: Progress) -> str:
        """Exchange beats until the run ends.

        A host that feeds and drains makes the run as long as it takes: then the limit is for the
        cycles in which nothing moves, neither in the streams nor on the memory bus.
        """
        since, moment, bus = 0, time.monotonic(), (0, 0)
        begun = moment
        pause = FIRST_PAUSE
        while True:
            status = self._look()
            moved = [port.feed() for port in self.sources if port.rest]
            moved += [port.drain() for port in self.sinks]
            if not status & RUNNING.mask:
                return "done" if status & DONE.mask else "not started"
            cycle, now = self.taken, time.monotonic()
            words = self.registers[READ_BEATS.offset], self.registers[WRITE_BEATS.offset]
            if self.cycles is None and (any(moved) or words != bus):
                since, moment, bus = cycle, now, words
            if cycle - since > self.limit and (self.cycles is not None or now - moment > QUIET):
                return "hang"
            if any(len(port.beats) > self._most(port) for port in self.sinks):
                return "hang"
            if self.cycles is not None:
                progress("running", min(1.0, cycle / self.cycles))
            if not any(moved):
                time.sleep(max(pause, self._foreseen(cycle, now - begun)))
                pause = min(1.5 * pause, LONGEST_PAUSE)

    def _foreseen(self, cycle: int, seconds: float) -> float:
        """Seconds in which nothing is to be done, if cycles go on as they did."""
        if self.about is None or not 0 < cycle < self.about:
            return 0.0
        return min(LONGEST_WAIT, SHARE * seconds * (self.about - cycle) / cycle)

    def _most(self, port: Port) -> int:
        """Beats of an output behind which a run does not end by itself."""
        return self.expected.get(port.port.name, len(port.beats)) + port.depth
