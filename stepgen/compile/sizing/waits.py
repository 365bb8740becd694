"""Cycles of waits through two inputs of a part, and the channels that break them."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter

from stepgen.compile.sizing.flow import Flow
from stepgen.compile.sizing.network import Block, Edge
from stepgen.compile.sizing.requirements import Clock, Requirement, never_waits
from stepgen.hw.design.pace import RUN

Wait = tuple[Edge, bool]
"""An edge that a part waits at, and whether it waits for space there, not for beats."""

Cost = Callable[[Clock, Edge], float]
"""Bits that an edge grows by to hold an epoch."""

WHOLE = Clock(RUN, 1, {})
"""The entire run as one epoch, which all edges have in common."""

START = -1
"""Where a cycle starts, in the flow network of its waits."""


APART = 3
"""Most parts whose cycles are looked at one by one where they leave a numbering."""

SAVING = 64
"""Bits that a step of a search may save at least."""


@dataclass(frozen=True)
class Break:
    """Edges that hold an epoch each, so that no cycle of waits closes, and what they grow by."""

    bits: float
    edges: tuple[tuple[Clock, Edge], ...] = ()


NEVER = Break(math.inf)


@dataclass(frozen=True)
class _Found:
    """What a search gave that was to take fewer bits than `most`, and how many steps it took."""

    found: Break
    most: float
    steps: float


@dataclass
class _Reached:
    """Waits that follow each other as far as the epochs of a choice number them.

    Attributes
    ----------
    seen : dict of Wait to int
        All of them, numbered.
    bits : dict of Wait to float
        What the edges grow by to hold an epoch, of those that do not hold one yet.
    steps : list of pairs of Wait
        Which one follows which.
    leaving : list of Wait
        Those that the epochs no longer number.
    closing : Wait or None
        The one that closes a cycle.
    """

    seen: dict[Wait, int] = field(default_factory=dict)
    bits: dict[Wait, float] = field(default_factory=dict)
    steps: list[tuple[Wait, Wait]] = field(default_factory=list)
    leaving: list[Wait] = field(default_factory=list)
    closing: Wait | None = None


class _TooLong(Exception):
    """A search takes more steps than it is worth."""


class Waits:
    """The waits that follow each other while a part waits at one input and another one is full.

    On a cycle, a part that waits for beats is in no later epoch than the part that is to send them.
    Where a part waits for space, its consumer is in no later epoch than it is, and in an earlier
    one if the edge holds an epoch. So a cycle with one such edge never closes.

    Parameters
    ----------
    need : Requirement
    cost : function
        Bits that an edge grows by to hold an epoch of a choice.
    following : dict of Wait to list of Wait
        What was found for other requirements of the same design, and is kept for more.
    """

    def __init__(self, need: Requirement, cost: Cost, following: dict[Wait, list[Wait]]) -> None:
        self.need, self._cost, self._following = need, cost, following
        self.growing = True
        self.searches = math.inf
        self._costs: dict[tuple[int, Edge], float] = {}
        self._found: dict[Hashable, _Found] = {}

    def cheapest(self, choices: Sequence[Clock], most: float) -> Break:
        """The edges that break all cycles with the fewest bits, if these are fewer than `most`.

        Cycles that leave what the epochs of a choice number are broken by those of a later choice.
        Where they do so again and again the ways multiply, so the search is given up when it has
        taken more steps than it could save bits worth while: `SAVING` for each.
        """
        starts = [(awaited, False) for awaited in self.need.awaited]
        joint = frozenset((self.need.full.head,))
        tries = [(one, [*choices[n + 1 :], WHOLE]) for n, one in enumerate(choices)]
        self.searches = most / SAVING
        try:
            return self._best(starts, tries, frozenset(), joint, most)
        except _TooLong:
            return NEVER

    def cost(self, choice: Clock, edge: Edge) -> float:
        """Bits that an edge grows by to hold an epoch of a choice."""
        key = id(choice), edge
        if key not in self._costs:
            self._costs[key] = self._cost(choice, edge)
        return self._costs[key]

    def _elsewhere(
        self,
        leaving: Sequence[Wait],
        choices: Sequence[Clock],
        before: frozenset[Wait],
        visited: frozenset[int],
        most: float,
    ) -> Break:
        """As `cheapest`, for cycles that go on with waits `leaving`, behind waits `before`."""
        tries = [
            (one, choices[n + 1 :])
            for n, one in enumerate(choices)
            if all(_numbered(one, wait) for wait in before)
        ]
        there = {_waiting(wait) for wait in leaving}
        if len(there) <= APART:  # a part waits once on a cycle
            parts = [
                self._best(
                    [w for w in leaving if _waiting(w) == n], tries, before, visited | {n}, most
                )
                for n in there
            ]
            edges = chain.from_iterable(one.edges for one in parts)
            return Break(sum(one.bits for one in parts), tuple(edges))
        return self._best(leaving, tries, before, visited, most)

    def _best(
        self,
        starts: Sequence[Wait],
        tries: Sequence[tuple[Clock, Sequence[Clock]]],
        before: frozenset[Wait],
        visited: frozenset[int],
        most: float,
    ) -> Break:
        """The cheapest of several choices; one that costs nothing is found without a flow."""
        growing, found = self.growing, NEVER
        for self.growing in (False, True) if growing else (False,):
            for choice, others in tries:
                least = min(most, found.bits)
                one = self._by(starts, choice, others, before, visited, least)
                found = min(found, one, key=attrgetter("bits"))
                if not found.bits:
                    break
            if not found.bits:
                break
        self.growing = growing
        return found

    def _by(
        self,
        starts: Sequence[Wait],
        choice: Clock,
        others: Sequence[Clock],
        before: frozenset[Wait],
        visited: frozenset[int],
        most: float,
    ) -> Break:
        """The edges by the epochs of one choice, as far as these number what cycles pass.

        Searches that meet again go on alike, so each is made once; it counts as many steps again.
        """
        key = self.growing, id(choice), frozenset(starts), before, visited
        known = self._found.get(key)
        if known is None or (math.isinf(known.found.bits) and most > known.most):
            left = self.searches
            found = self._search(starts, choice, others, before, visited, most)
            known = self._found[key] = _Found(found, most, left - self.searches)
        else:
            self._step(known.steps)
        return known.found

    def _step(self, steps: float = 1) -> None:
        """Take steps of a search, if they are worth while."""
        self.searches -= steps
        if self.searches < 0:
            raise _TooLong

    def _search(
        self,
        starts: Sequence[Wait],
        choice: Clock,
        others: Sequence[Clock],
        before: frozenset[Wait],
        visited: frozenset[int],
        most: float,
    ) -> Break:
        """See `_by`."""
        self._step()
        reached = self._reached(starts, choice, visited)
        if reached is None:
            return NEVER
        seen, beyond = reached.seen, Break(0)
        if reached.leaving:
            before = before.union(seen)
            beyond = self._elsewhere(reached.leaving, others, before, visited, most)
        if math.isinf(beyond.bits) or reached.closing is None:
            return beyond
        # Each wait is an arc from an even node to the next one.
        flow = Flow(START, 2 * seen[reached.closing] + 1)
        for wait in starts:
            if wait in seen:
                flow.add(START, 2 * seen[wait], math.inf)
        for wait, bits in reached.bits.items():
            flow.add(2 * seen[wait], 2 * seen[wait] + 1, bits)
        for wait, after in reached.steps:
            if after in seen:
                flow.add(2 * seen[wait] + 1, 2 * seen[after], math.inf)
        bits, far = flow.cut(most - beyond.bits)
        if math.isinf(bits):
            return NEVER
        edges = [w[0] for w, n in seen.items() if 2 * n + 1 in far and 2 * n not in far]
        return Break(bits + beyond.bits, (*((choice, edge) for edge in edges), *beyond.edges))

    def _reached(
        self, starts: Sequence[Wait], choice: Clock, visited: frozenset[int]
    ) -> _Reached | None:
        """The waits that follow those of `starts`; None if a cycle closes and no edge may grow."""
        full, block = self.need.full, self.need.block
        found, todo = _Reached(), [*starts]
        while todo:
            wait = todo.pop()
            if wait in found.seen:
                continue
            if not _numbered(choice, wait):
                found.leaving.append(wait)
                continue
            found.seen[wait] = len(found.seen)
            edge, for_space = wait
            bits = self.cost(choice, edge) if for_space else math.inf
            if not bits:
                continue
            found.bits[wait] = bits
            if for_space and edge is full:
                if not self.growing:
                    return None
                found.closing = wait
                continue
            if (edge.head if for_space else edge.tail) in visited:
                continue
            for after in self._after(wait):
                if for_space and not after[1] and not meet(block, choice, edge, after[0]):
                    found.leaving.append(after)
                else:
                    found.steps.append((wait, after))
                    todo.append(after)
        return found

    def _after(self, wait: Wait) -> list[Wait]:
        """What the part may wait for that another one waits for at an edge."""
        if wait not in self._following:
            block, (edge, for_space) = self.need.block, wait
            part = edge.head if for_space else edge.tail
            found: list[Wait] = [(other, True) for other in block.outs[part] if other != edge]
            for other in block.ins[part]:
                if other != edge and not (for_space and never_waits(block, part, edge, other)):
                    found.append((other, False))
            self._following[wait] = found
        return self._following[wait]


def meet(block: Block, choice: Clock, *inputs: Edge) -> bool:
    """Whether a part that waits at one input has consumed all earlier epochs of another."""
    meets = block.parts[inputs[0].head].meets
    known = [(choice.pace(edge), meets.get(edge.name, 0)) for edge in inputs]
    return all(pace is not None and pace.level >= level for pace, level in known)


def _waiting(wait: Wait) -> int:
    """The part that waits."""
    edge, for_space = wait
    return edge.tail if for_space else edge.head


def _numbered(choice: Clock, wait: Wait) -> bool:
    """Whether the epochs of a choice say how far both ends of an edge are."""
    edge, for_space = wait
    pace = choice.pace(edge)
    return pace is not None and (for_space or not pace.lag)
