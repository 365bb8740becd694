"""States of the actors over a run: busy, starved or full, decoded from the kernel's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stepgen.timing import kernel as k
from stepgen.timing.layout import Layout
from stepgen.timing.sorting import split
from stepgen.timing.states import STATES

Cycles = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Activity:
    """States of one actor of a unit: total cycles in each, and the cycles of its changes.

    Attributes
    ----------
    unit, name : str
        The unit, and the actor's name in it.
    busy, starved, full : int
        Cycles in which it was busy (acted), starved (waited for an input) and full (stalled by
        back-pressure from an output).
    changes : int64 array of shape [n]
        Cycles at which its state changes.
    states : int64 array of shape [n]
        Its state from there on, an index into `STATES`.
    """

    unit: str
    name: str
    busy: int
    starved: int
    full: int
    changes: Cycles
    states: Cycles


@dataclass(frozen=True)
class Trace:
    """The kernel's log of a run's actors, a word for each change of a state.

    Attributes
    ----------
    names : tuple of (str, str)
        Unit and name of each actor.
    counts : int64 array of shape [actors, states]
        Cycles in each state.
    entries : int64 array
        Changes, in order of time: the cycle, and in its low bits the actor and the new state.
    """

    names: tuple[tuple[str, str], ...]
    counts: Cycles
    entries: Cycles

    @classmethod
    def of(cls, layout: Layout, M: Cycles, entries: Cycles, cycles: int) -> Trace:
        """From `M` after a run, and the trace entries collected during the run."""
        names = tuple((actor.unit, actor.name) for actor in layout.actors)
        return cls(names, spent(M, [actor.address for actor in layout.actors], cycles), entries)

    def activities(self) -> Iterator[Activity]:
        """All actors, in the order in which they were laid out."""
        by_state = split(self.entries, 4 * len(self.names))
        for index, (unit, name) in enumerate(self.names):
            own = by_state[4 * index : 4 * index + len(STATES)]
            changes = np.concatenate(own)
            states = np.repeat(np.arange(len(STATES)), [len(part) for part in own])
            order = np.argsort(changes)
            busy, starved, full = map(int, self.counts[index])
            yield Activity(unit, name, busy, starved, full, changes[order], states[order])


def spent(M: Cycles, actors: Sequence[int] | Cycles, cycles: int) -> Cycles:
    """Cycles that actors spent in each state until the end of a run, of shape [actors, states]."""
    a = np.asarray(actors, np.int64)
    counts: Cycles = M[a[:, None] + k.BUSY + np.arange(len(STATES))]
    counts[np.arange(len(a)), M[a + k.STATE]] += np.maximum(0, cycles - M[a + k.LAST])
    return counts
