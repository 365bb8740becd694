"""Deadlocks: the cycle of actors that wait for each other, and the depths that resolve it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from stepgen.ir.errors import StepError
from stepgen.timing import kernel as k
from stepgen.timing.drive import TooLong
from stepgen.timing.layout import Actor, Layout

if TYPE_CHECKING:
    from stepgen.timing.model import Prediction

R = TypeVar("R")

MOST_NAMED = 8
"""Most waiting actors, or FIFOs to make deeper, that a message names."""


@dataclass(frozen=True)
class Waiting:
    """One edge of a cycle of waits: an actor that waits for a channel.

    Attributes
    ----------
    unit, channel : str
    full : bool
        Whether it waits for space, else for a beat.
    level, depth : int
        Beats in the channel, and its depth.
    """

    unit: str
    channel: str
    full: bool
    level: int
    depth: int

    @property
    def state(self) -> str:
        """The state of the channel; an actor may need more than one beat or free slot."""
        if self.full:
            return "full" if self.level >= self.depth else "too little room"
        return "too few" if self.level else "empty"

    def __str__(self) -> str:
        return f"{self.unit} waits for {self.channel} ({self.state}, {self.level} of {self.depth})"


class Deadlock(StepError):
    """The run can never end.

    Attributes
    ----------
    cycle : int
        Cycle after which no beat moves.
    waiting : list of Waiting
        Actors and awaited channels, in the order in which they wait for each other.
    remedy : dict of str to int
        The smallest FIFO depths, by channel, that let the run end.
    stopped : Prediction or None
        The prediction until then, where the run was that of a circuit.
    result : object
        What `stepgen.time` gives of the run until then; None where it was not called.
    """

    def __init__(self, message: str, cycle: int, waiting: list[Waiting]):
        super().__init__(message)
        self.cycle = cycle
        self.waiting = waiting
        self.remedy: dict[str, int] = {}
        self.stopped: Prediction | None = None
        self.result: Any = None

    def advise(self, remedy: Mapping[str, int]) -> None:
        """Add the smallest depths that let the run end; none if no depth does."""
        self.remedy = dict(remedy)
        if len(remedy) <= MOST_NAMED:
            depths = " and ".join(
                f"a depth of {depth} for {name}" for name, depth in remedy.items()
            )
        else:
            first = ", ".join(list(remedy)[:MOST_NAMED])
            depths = (
                f"a depth of {max(remedy.values())} for each of {len(remedy)} FIFOs ({first}, …)"
            )
        advice = f"{depths} frees it" if depths else "no FIFO depth frees it"
        self.args = (f"{self.args[0]}; {advice}",)


def explain(layout: Layout, M: npt.NDArray[np.int64], cycle: int) -> Deadlock:
    """The error for a run in which no actor can act any more."""
    import networkx as nx  # which takes long to import

    producers = {c: actor for actor in layout.actors for c in actor.writes}
    consumers = {c: actor for actor in layout.actors for c in actor.reads}
    waits: nx.DiGraph = nx.DiGraph()
    edges: dict[tuple[int, int], Waiting] = {}
    for actor in layout.actors:
        for c, full in _awaited(actor, M):
            other = (consumers if full else producers).get(c)
            if other is None:
                continue
            waits.add_edge(actor.address, other.address)
            edges[actor.address, other.address] = Waiting(
                actor.unit, layout.names[c], full, _level(M, c), int(M[c + k.DEPTH])
            )
    try:
        waiting = [edges[edge] for edge in nx.find_cycle(waits)]
    except nx.NetworkXNoCycle:
        waiting = list(edges.values())
    listed = ", ".join(str(w) for w in waiting[:MOST_NAMED])
    if len(waiting) > MOST_NAMED:
        listed += f" and {len(waiting) - MOST_NAMED} more wait"
    return Deadlock(f"{layout.title} deadlocks in cycle {cycle}: {listed}", cycle, waiting)


def _awaited(actor: Actor, M: npt.NDArray[np.int64]) -> list[tuple[int, bool]]:
    """The channels that an actor waits for, and whether it waits for space, else for a beat."""
    full = {c for c in actor.writes if _level(M, c) >= M[c + k.DEPTH]}
    on = int(M[actor.address + k.ASLEEP_ON])
    if on < k.NEVER:
        return [(-on, -on in full or -on not in actor.reads)]
    if on != k.ANY:
        return []
    if int(M[actor.address + k.STATE]) == k.FULL_OUTPUT:
        return [(c, True) for c in full]
    return [(c, False) for c in actor.reads if _level(M, c) == 0]


def _level(M: npt.NDArray[np.int64], channel: int) -> int:
    return int(M[channel + k.PUSHED] - M[channel + k.POPPED])


AMPLE = 1 << 16
"""Depth at which FIFOs count as never full, in the search for depths."""

Depths = Mapping[str, int]
"""Depths of FIFOs, by name."""


def advised(run: Callable[[Depths], R], own: Callable[[], Depths]) -> R:
    """Run with the given depths; if that deadlocks, find depths that resolve it.

    Parameters
    ----------
    run : function of depths
        Runs with some depths replaced.
    own : function
        Current depths that the user can set; called after the first run.

    Raises
    ------
    Deadlock
        With the smallest depths that let the run end.
    """
    try:
        return run({})
    except Deadlock as deadlock:
        depths = own()
        remedy = _smallest_depths(deadlock, depths, run)
        deadlock.advise({name: depth for name, depth in remedy.items() if depth > depths[name]})
        raise


def _stuck(run: Callable[[Depths], object], depths: Depths) -> Deadlock | None:
    """The deadlock of a run with some depths replaced, or None."""
    try:
        run(depths)
    except Deadlock as deadlock:
        return deadlock
    except TooLong:
        pass
    return None


def _smallest_depths(
    deadlock: Deadlock, own: Depths, run: Callable[[Depths], object]
) -> dict[str, int]:
    """The smallest depths, from their own on, that let a deadlocked run end, or none.

    Many FIFOs all get the same depth, since the search for each takes several runs.
    """
    depths: dict[str, int] = {}
    stuck: Deadlock | None = deadlock
    while stuck is not None:
        full = {w.channel for w in stuck.waiting if w.full and w.channel in own} - depths.keys()
        if not full:
            return {}
        depths |= dict.fromkeys(sorted(full), AMPLE)
        stuck = _stuck(run, depths)
    together = [list(depths)] if len(depths) > MOST_NAMED else [[name] for name in depths]

    def among(names: list[str], depth: int) -> dict[str, int]:
        return {**depths, **{name: max(depth, own[name]) for name in names}}

    def frees(names: list[str], depth: int) -> bool:
        return _stuck(run, among(names, depth)) is None

    # Again until no depth can be one less: what one needs may change with the others', where
    # streams merge in order of arrival.
    asked = [AMPLE] * len(together)
    lowered = True
    while lowered:
        lowered = False
        for n, names in enumerate(together):
            low, high = min(own[name] for name in names), asked[n]
            if high < AMPLE and (high == low or not frees(names, high - 1)):
                continue
            while low < high:
                middle = (low + high) // 2
                if frees(names, middle):
                    high = middle
                else:
                    low = middle + 1
            lowered |= high < asked[n]
            asked[n] = high
            depths |= among(names, high)
    return depths
