"""Finds actors that act without end although nothing changes any more."""

from __future__ import annotations

import numpy as np

from stepgen.ir.errors import StepError
from stepgen.timing import kernel as k
from stepgen.timing.activity import Cycles, spent
from stepgen.timing.layout import Actor, Layout

CYCLES = 1 << 20
"""Cycles between two looks; also those for which an actor may act without effect."""


class Endless:
    """Looks at a run from time to time.

    Parameters
    ----------
    layout : Layout
        What runs.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._state: Cycles | None = None
        self._busy: Cycles = np.zeros(0, np.int64)
        self._cycle = 0

    def look(self, M: Cycles, t: int) -> None:
        """Compare the state before cycle `t` with that of the last look.

        Raises
        ------
        StepError
            If an actor has acted in every cycle since, and nothing else has changed.
        """
        if not self._layout.waits_are_events:
            return
        if self._state is not None and t - self._cycle < CYCLES:
            return
        actors = self._layout.actors
        addresses = np.array([actor.address for actor in actors], np.int64)
        state = M[: M[k.WHEEL]].copy()
        state[: k.HEADER] = 0
        state[addresses[:, None] + np.arange(k.OWN)] = 0
        busy = spent(M, addresses, t)[:, k.WORKING]
        if self._state is not None and np.array_equal(state, self._state):
            for actor, acted in zip(actors, busy - self._busy, strict=True):
                if acted == t - self._cycle:
                    raise self._refused(actor, t)
        self._state, self._busy, self._cycle = state, busy, t

    def _refused(self, actor: Actor, t: int) -> StepError:
        return StepError(
            f"{self._layout.title}: the actor {actor.name} of {actor.unit} has acted in every "
            f"cycle from {self._cycle:,} to {t:,}, but no beat has moved and no state has changed: "
            f"its step may return acted(M, t) only in a cycle in which it does something"
        )
