"""Cycles of waits through two inputs of a part, and the channels that break them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import networkx as nx
from networkx.algorithms.flow import edmonds_karp

from ...hw.design.pace import RUN
from .network import Block, Edge
from .requirements import Choice, Requirement, never_waits

Wait = tuple[Edge, bool]
"""An edge that a part waits at, and whether it waits for space there, not for beats."""

Cost = Callable[[Choice, Edge], float]
"""Bits that an edge grows by to hold an epoch."""

WHOLE = Choice(RUN, 1, {})
"""The entire run as one epoch, which all edges have in common."""

START, CLOSED = "start", "closed"
"""Where a cycle starts and where it closes, in the flow network of its waits."""


APART = 3
"""Most parts whose cycles are looked at one by one where they leave a numbering."""

SAVING = 64
"""Bits that a step of a search may save at least."""


@dataclass(frozen=True)
class Break:
    """Edges that hold an epoch each, so that no cycle of waits closes, and what they grow by."""

    bits: float
    edges: tuple[tuple[Choice, Edge], ...] = ()


NEVER = Break(math.inf)


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
    """

    def __init__(self, need: Requirement, cost: Cost) -> None:
        self.need, self._cost = need, cost
        self.growing = True
        self.searches = math.inf
        self._costs: dict[tuple[int, Edge], float] = {}

    def cheapest(self, choices: Sequence[Choice], most: float) -> Break:
        """The edges that break all cycles with the fewest bits, if these are fewer than `most`.

        Cycles that leave what the epochs of a choice number are broken by those of a later choice.
        Where they do so again and again the ways multiply, so the search is given up when it has
        taken more steps than it could save bits worth while: `SAVING` for each.
        """
        start, joint = (self.need.awaited, False), {self.need.full.head}
        tries = [(one, [*choices[n + 1 :], WHOLE]) for n, one in enumerate(choices)]
        self.searches = most / SAVING
        try:
            return self._best([start], tries, (), joint)
        except _TooLong:
            return NEVER

    def cost(self, choice: Choice, edge: Edge) -> float:
        """Bits that an edge grows by to hold an epoch of a choice."""
        key = id(choice), edge
        if key not in self._costs:
            self._costs[key] = self._cost(choice, edge)
        return self._costs[key]

    def _elsewhere(
        self,
        leaving: Sequence[Wait],
        choices: Sequence[Choice],
        before: Collection[Wait],
        visited: set[int],
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
                self._best([w for w in leaving if _waiting(w) == n], tries, before, visited | {n})
                for n in there
            ]
            edges = chain.from_iterable(one.edges for one in parts)
            return Break(sum(one.bits for one in parts), tuple(edges))
        return self._best(leaving, tries, before, visited)

    def _best(
        self,
        starts: Sequence[Wait],
        tries: Sequence[tuple[Choice, Sequence[Choice]]],
        before: Collection[Wait],
        visited: set[int],
    ) -> Break:
        """The cheapest of several choices; one that costs nothing is found without a flow."""
        growing, found = self.growing, NEVER
        for self.growing in (False, True) if growing else (False,):
            for choice, others in tries:
                one = self._by(starts, choice, others, before, visited)
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
        choice: Choice,
        others: Sequence[Choice],
        before: Collection[Wait],
        visited: set[int],
    ) -> Break:
        """The edges by the epochs of one choice, as far as these number what cycles pass."""
        self.searches -= 1
        if self.searches < 0:
            raise _TooLong
        flows: nx.DiGraph = nx.DiGraph()
        leaving, seen, todo = list[Wait](), set[Wait](), [*starts]
        while todo:
            wait = todo.pop()
            if wait in seen:
                continue
            if not _numbered(choice, wait):
                leaving.append(wait)
                continue
            seen.add(wait)
            edge, for_space = wait
            bits = self.cost(choice, edge) if for_space else math.inf
            if not bits:
                continue
            if for_space and edge == self.need.full and not self.growing:
                return NEVER
            if self.growing:
                flows.add_edge((wait, False), (wait, True), capacity=bits)
            if for_space and edge == self.need.full:
                flows.add_edge((wait, True), CLOSED, capacity=math.inf)
                continue
            for after in self._after(edge, for_space, visited):
                if for_space and not after[1] and not meet(self.need.block, choice, edge, after[0]):
                    leaving.append(after)
                    continue
                if self.growing:
                    flows.add_edge((wait, True), (after, False), capacity=math.inf)
                todo.append(after)
        beyond = Break(0)
        if leaving:
            beyond = self._elsewhere(leaving, others, {*before, *seen}, visited)
        if math.isinf(beyond.bits) or CLOSED not in flows:
            return beyond
        for wait in starts:
            flows.add_edge(START, (wait, False), capacity=math.inf)
        try:
            bits, (near, far) = nx.minimum_cut(flows, START, CLOSED, flow_func=edmonds_karp)
        except nx.NetworkXUnbounded:
            return NEVER
        edges = [w[0] for w in seen if (w, False) in near and (w, True) in far]
        return Break(bits + beyond.bits, (*((choice, edge) for edge in edges), *beyond.edges))

    def _after(self, edge: Edge, for_space: bool, visited: set[int]) -> Iterator[Wait]:
        """What the part may wait for that another one waits for at an edge."""
        block = self.need.block
        part = edge.head if for_space else edge.tail
        if part in visited:
            return
        for other in block.outs[part]:
            if other != edge:
                yield other, True
        for other in block.ins[part]:
            if other != edge and not (for_space and never_waits(block, part, edge, other)):
                yield other, False


def meet(block: Block, choice: Choice, *inputs: Edge) -> bool:
    """Whether a part that waits at one input has consumed all earlier epochs of another."""
    meets = block.parts[inputs[0].head].meets
    known = [(choice.pace(edge), meets.get(edge.name, 0)) for edge in inputs]
    return all(pace is not None and pace.level >= level for pace, level in known)


def _waiting(wait: Wait) -> int:
    """The part that waits."""
    edge, for_space = wait
    return edge.tail if for_space else edge.head


def _numbered(choice: Choice, wait: Wait) -> bool:
    """Whether the epochs of a choice say how far both ends of an edge are."""
    edge, for_space = wait
    pace = choice.pace(edge)
    return pace is not None and (for_space or not pace.lag)
