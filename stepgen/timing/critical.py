"""The critical path of a run: what the last action waited for, and that, back to the first cycle.

An actor that acts without a pause is followed to where it began. There it had waited for a beat or
for a free slot, and the path goes on at the actor that pushed the one or popped the other. What it
waits for by itself, as for a latency, is part of its time on the path. A unit that only takes
beats, as they come, limits nothing: it is left at once for who pushed them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from stepgen.hw.design.table import Design
from stepgen.timing import kernel as k
from stepgen.timing.activity import Trace
from stepgen.timing.design_layout import DesignLayout, Run
from stepgen.timing.drive import MAX_CYCLES, Driven, drive
from stepgen.timing.sorting import split

MOST_STEPS = 300_000
"""Steps after which a path is left as it is; the cycles before then belong to its first span."""


@dataclass(frozen=True)
class Span:
    """Cycles in which one actor is on the critical path.

    Attributes
    ----------
    first, last : int
        From `first` up to, but not including, `last`.
    unit, does : str
        The unit, and the actor's name in it.
    """

    first: int
    last: int
    unit: str
    does: str


def critical_path(design: Design, run: Run, *, limit: int = MAX_CYCLES) -> list[Span]:
    """The critical path of a run that ends.

    Parameters
    ----------
    design : Design
    run : Run
        What differs between runs of the design.
    limit : int
        Most cycles of the run.

    Returns
    -------
    list of Span
        In order of time, from cycle 0 to the end, without gaps. Each span ends when the actor of
        the next one gets what it had waited for.
    """
    layout = DesignLayout(design, logged="all").of_run(run)
    return _Walk(layout, drive(layout, limit=limit)).spans()


class _Walk:
    """The walk from the last action back."""

    def __init__(self, layout: DesignLayout, ran: Driven) -> None:
        self.layout, self.M, self.cycles = layout, ran.M, ran.cycles
        moves = split(ran.notes, 2 * (len(layout.design.channels) + len(layout.notes)))
        activities = [*Trace.of(layout, ran.M, ran.trace, ran.cycles).activities()]
        # Lists, which are searched faster than arrays; of those alone that the path comes by.
        self.moves = cache(lambda place: moves[place].tolist())
        self.changes = cache(lambda n: activities[n].changes.tolist())
        self.states = [activity.states for activity in activities]
        self.busy = [activity.busy for activity in activities]
        self.takers = {unit.name for unit in layout.design.units if not unit.outputs}
        self.producers = {c: u.name for c, u in layout.design.producers.items()}
        self.pushers = {c: n for n, actor in enumerate(layout.actors) for c in actor.writes}
        self.poppers = {c: n for n, actor in enumerate(layout.actors) for c in actor.reads}

    def spans(self) -> list[Span]:
        """The path, in order of time."""
        found: list[Span] = []
        n = max(range(len(self.states)), key=self._end)
        t, end = self._end(n), self.cycles
        for _ in range(MOST_STEPS):
            began, waits = (t, k.EMPTY_INPUT) if self._just_came(n, t) else self._began(n, t)
            then, other = max(self._causes(n, began, waits), default=(-1, n))
            actor = self.layout.actors[n]
            if found and (found[-1].unit, found[-1].does) == (actor.unit, actor.name):
                end = found.pop().last
            found.append(Span(max(0, then + 1), end, actor.unit, actor.name))
            if then < 0:
                break
            n, t, end = other, then, then + 1
        first = found.pop()
        return [Span(0, first.last, first.unit, first.does), *reversed(found)]

    def _end(self, n: int) -> int:
        """The last cycle in which an actor acts."""
        busy = (self.states[n] == k.WORKING).nonzero()[0]
        if not busy.size:
            return -1
        changes, last = self.changes(n), int(busy[-1]) + 1
        return min(self.cycles, changes[last] if last < len(changes) else self.cycles) - 1

    def _began(self, n: int, t: int) -> tuple[int, int]:
        """Since when an actor has acted in cycle `t` without a pause; its state before.

        Where it does not act then, what it waits for in `t`.
        """
        place = bisect_right(self.changes(n), t) - 1
        if place < 0:
            return t, k.EMPTY_INPUT
        state = int(self.states[n][place])
        if state != k.WORKING:
            return t, state
        return self.changes(n)[place], int(self.states[n][place - 1]) if place else k.EMPTY_INPUT

    def _just_came(self, n: int, t: int) -> bool:
        """Whether a unit that only takes beats gets one in cycle `t` that came just then."""
        actor = self.layout.actors[n]
        if actor.unit not in self.takers:
            return False
        for c in actor.reads:
            place = bisect_left(self._pops(c), t)
            if place < len(self._pops(c)) and self._pops(c)[place] == t:
                return self._pushes(c)[place] + int(self.M[c + k.LATENCY]) == t
        return False

    def _causes(self, n: int, t: int, waits: int) -> Iterator[tuple[int, int]]:
        """Cycles of what let an actor act in cycle `t`, and the actors that did it."""
        actor = self.layout.actors[n]
        since = self._since(n, t)
        if waits == k.FULL_OUTPUT:
            # The last slot that became free: who reserves several waits for the last of them.
            for c in actor.writes:
                place = bisect_left(self._pops(c), t) - 1
                if place >= 0 and since <= self._pops(c)[place] + 1 and c in self.poppers:
                    yield self._pops(c)[place], self.poppers[c]
        else:
            for c in actor.reads:
                place = bisect_left(self._pops(c), t)
                if place < len(self._pushes(c)):
                    then = self._pushes(c)[place]
                    seen = then + int(self.M[c + k.LATENCY])
                    if since <= seen <= t and then < t:
                        yield then, self._pusher(c, then)
        if since > 0:  # nothing came: it waited for a time that was known
            yield since - 1, n

    def _pusher(self, c: int, t: int) -> int:
        """The actor that pushed into a channel in cycle `t`.

        What writes to a channel by the layout waits for room in it. Where another unit reserves
        that room, it is the busiest actor of the producer among those that act in this cycle.
        """
        writer = self.pushers.get(c)
        producer = self.producers.get(self.layout.names[c])
        if writer is not None and producer in (None, self.layout.actors[writer].unit):
            return writer
        own = [n for n, actor in enumerate(self.layout.actors) if actor.unit == producer]
        return max(own, key=lambda n: (self._acts(n, t), self.busy[n]))

    def _acts(self, n: int, t: int) -> bool:
        place = bisect_right(self.changes(n), t) - 1
        return place >= 0 and int(self.states[n][place]) == k.WORKING

    def _since(self, n: int, t: int) -> int:
        """Since when an actor has waited that acts in cycle `t`."""
        place = bisect_right(self.changes(n), t - 1) - 1
        return self.changes(n)[place] if place >= 0 else 0

    def _pushes(self, c: int) -> list[int]:
        return self._moves(c, 0)

    def _pops(self, c: int) -> list[int]:
        return self._moves(c, 1)

    def _moves(self, c: int, side: int) -> list[int]:
        index = int(self.M[c + k.CHANNEL_ID])
        return self.moves(2 * index + side) if index >= 0 else []
