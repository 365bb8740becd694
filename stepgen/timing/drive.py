"""The loop around the kernel, common to both engines.

The kernel runs in slices: between them Python handles Ctrl-C, reports progress, and empties logs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles
from stepgen.timing.endless import Endless
from stepgen.timing.layout import Layout
from stepgen.timing.scratch import Entries
from stepgen.timing.stepping import Stepper
from stepgen.timing.watch import watcher

MAX_CYCLES = 1 << 40
"""Default limit of the cycles of a run."""


class TooLong(StepError):
    """The run has reached its limit of cycles; `M` is the state array at that time."""

    def __init__(self, message: str, M: Cycles) -> None:
        super().__init__(message)
        self.M = M


@dataclass(frozen=True)
class Driven:
    """Result of a run.

    Attributes
    ----------
    M : int64 array
        State array at the end.
    cycles : int
        Cycles of the run; after a deadlock, the cycle from which on nothing moves.
    stuck : bool
        Whether the run has deadlocked.
    notes, trace : int64 array
        Entries of the log and of the trace, in order of time.
    """

    M: Cycles
    cycles: int
    stuck: bool
    notes: Cycles
    trace: Cycles


def check_limit(limit: int) -> int:
    """A limit of cycles, checked.

    Raises
    ------
    StepError
        If it is not positive, or larger than log entries can encode.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_CYCLES:
        raise StepError(f"the limit of cycles must be within 1..{MAX_CYCLES}, not {limit!r}")
    return limit


def drive(layout: Layout, *, limit: int = MAX_CYCLES, arena: int = 0) -> Driven:
    """Run a layout until it ends or deadlocks.

    Parameters
    ----------
    layout : Layout
        Actors and channels.
    limit : int
        Most cycles of the run.
    arena : int
        Initial words of the arena; it grows as needed.

    Raises
    ------
    TooLong
        If the run takes more than `limit` cycles.
    StepError
        If an actor acts without end although nothing changes; if its step function fails.
    """
    check_limit(limit)
    last = limit + 1 - layout.control
    M = layout.build()
    if arena:
        M[k.ARENA], M[k.ARENA_END] = len(M), len(M) + arena
        M = np.concatenate([M, np.zeros(arena, dtype=np.int64)])
    log, trace = int(M[k.LOG]), int(M[k.TRACE])
    logs, traces = Entries(), Entries()
    stepper, endless = Stepper(layout), Endless(layout)
    while True:
        why = stepper.advance(M, last)
        t = int(M[k.CYCLE])
        watcher().ran(t)
        if why == k.FAILED:
            raise _failed(layout, M)
        if why == k.PAUSED:
            endless.look(M, t)
            continue
        logs.add(M[log : M[k.LOG]])
        traces.add(M[trace : M[k.TRACE]])
        M[k.LOG], M[k.TRACE] = log, trace
        if why == k.ARENA_FULL:
            M = np.concatenate([M, np.zeros_like(M)])
            M[k.ARENA_END] = len(M)
        elif why == k.LIMIT:
            raise TooLong(f"{layout.title} takes more than {limit:,} cycles, the limit", M)
        elif why != k.LOG_FULL:
            break
    stuck = why == k.QUIET
    cycles = t if stuck else t - k.CONTROL_CYCLES + 1 + layout.control
    return Driven(M, cycles, stuck, logs.all(), traces.all())


def _failed(layout: Layout, M: Cycles) -> StepError:
    """The error of a step function that has returned neither a cycle to come nor another wait."""
    actor = next(actor for actor in layout.actors if actor.address == M[k.FAULT])
    cycle, then = int(M[k.CYCLE]), int(M[k.REASON])
    must = "it must return a wait, or acted(M, t)"
    if then > cycle:
        said, ahead = f"asks in cycle {cycle} for cycle {then}", then - cycle
        must = f"build must say how far ahead, by layout.horizon = max(layout.horizon, {ahead})"
    elif then:
        said = f"asks in cycle {cycle} for cycle {then}, which is not later"
    else:
        said = f"divides by zero in cycle {cycle}, or returns 0"
    return StepError(
        f"{layout.title}: the step of the actor {actor.name} of {actor.unit} {said}: {must}"
    )
