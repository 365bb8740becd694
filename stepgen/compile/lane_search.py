"""Lanes of groups of operators, chosen by what the circuits cost.

A group is all operators with one function, one operator, or all that have no other group. Each
circuit is measured: its cycles by the cycle model, its resources by an estimate. So what stands
between operators of different lanes counts as it is. Three walks change one group after the other:

- *smaller* halves lanes while the run stays short enough,
- *fitting* halves lanes until the circuit fits,
- *faster* doubles lanes while the circuit fits.

Each takes the change that is worth the most: resources for a cycle lost, or cycles for resources
added. What a change is worth seldom grows when others are made, so that those that were worth
less before are measured again only when they come first. Of a circuit whose run is too long to be
chosen only that is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from stepgen.ir.errors import StepError
from stepgen.ir.lanes import OTHERS, Lanes, function_of, lanes_by_node, lanes_of_named, usual_lanes

if TYPE_CHECKING:
    from stepgen.ir.graph import Graph
    from stepgen.ir.stream import Node

LUT = "lut"
"""The resource that a search makes small."""


@dataclass(frozen=True)
class Cost:
    """What a circuit takes.

    Attributes
    ----------
    cycles : int
        Of the run.
    used : mapping of str to int
        By resource, ``lut`` among them.
    """

    cycles: int
    used: Mapping[str, int]

    @property
    def luts(self) -> int:
        """LUTs."""
        return self.used[LUT]


@dataclass(frozen=True)
class Choice:
    """A circuit that was measured.

    Attributes
    ----------
    lanes : mapping of str to int
        As `stepgen.ir.lanes.Lanes`, with ``"*"`` first.
    cost : Cost
    group : str
        What was changed to come here, in `before`; empty if all operators have the same lanes.
    before : Choice or None
    """

    lanes: Mapping[str, int]
    cost: Cost
    group: str = ""
    before: Choice | None = None

    @property
    def steps(self) -> list[Choice]:
        """The circuits on the way here, this one last."""
        return [*(self.before.steps if self.before else ()), self]


Measure = Callable[[Lanes, float], Cost | None]
"""Cycles and resources with some lanes; None where there is no such circuit, or where its run takes
more cycles than the number."""

Worth = tuple[bool, float]
"""What a change is worth: whether it costs nothing, and how much it brings (for what it costs)."""


class LaneSearch:
    """Looks for the lanes of a program's groups.

    Parameters
    ----------
    graph : Graph
    most : int or mapping of str to int
        The most lanes of all groups, and those of operators that are named, which stay.
    measure : callable
        See `Measure`.
    slower : float
        By how many per cent the run may be longer than the fastest that was found to fit.
    limits : mapping of str to int
        How much there is of a resource.
    single : bool
        Whether each operator that has a function is a group of its own.

    Raises
    ------
    StepError
        If there is nothing to choose.
    """

    def __init__(
        self,
        graph: Graph,
        most: Lanes,
        measure: Measure,
        *,
        slower: float = 0.0,
        limits: Mapping[str, int] | None = None,
        single: bool = False,
    ):
        self.graph, self.most, self.slower = graph, usual_lanes(most), slower
        self.limits = limits or {}
        self.measured: list[Choice] = []
        self._measure = measure
        named = {} if isinstance(most, int) else most
        self.held = {name: count for name, count in named.items() if name != OTHERS}
        self._known: dict[tuple[int, ...], Cost] = {}
        self._tried: dict[tuple[int, ...], float] = {}
        self._limit: float | None = None
        self.group_of = {
            node.name: node.name if single and function_of(node) else function_of(node)
            for node in graph.nodes
        }
        kept = lanes_of_named(graph, self.held)
        self._free = {name: group for name, group in self.group_of.items() if name not in kept}
        self.groups = [*sorted({*self._free.values()} - {""}), OTHERS]
        if self.most == 1:
            raise StepError("operators with 1 lane can't have fewer: start with 2 or more")

    def run(self) -> Choice:
        """The smallest circuit that is fast enough, of those that were measured.

        Raises
        ------
        StepError
            If none was found that fits.
        """
        self._limit = None
        throughout = [*self._throughout()]
        if not throughout:
            raise StepError(f"{self.graph.name} has no circuit that runs with any number of lanes")
        if not self.fits(throughout[0]):
            self._fit(throughout)
        if not any(map(self.fits, self.measured)):
            return self.found  # which says so
        self._limit = self.limit
        quick = [one for one in throughout if self.fits(one) and self.quick(one)]
        if quick:
            self._smaller(quick[-1])
        if self.limits and self.found not in quick[-1:]:
            self._smaller(self.found)
        short = [one for one in throughout if self.fits(one) and not self.quick(one)]
        if short:
            self._smaller(self._faster(short[0], until=self.quick))
        return self.found

    @property
    def found(self) -> Choice:
        """The best of those that were measured until now.

        Raises
        ------
        StepError
            If none fits.
        """
        fitting = [one for one in self.measured if self.fits(one)]
        if fitting:
            quick = [one for one in fitting if one.cost.cycles <= self.limit]
            return min(quick, key=lambda one: (one.cost.luts, one.cost.cycles))
        least = min(self.measured, key=self._excess, default=None)
        if least is None:
            raise StepError(f"no circuit of {self.graph.name} was measured yet")
        over = {what: n for what, n in self.limits.items() if least.cost.used[what] > n}
        what, most = next(iter(over.items()))
        raise StepError(
            f"no circuit of {self.graph.name} was found that fits: with --lanes {self.text(least)} "
            f"it takes {least.cost.used[what]:,} {NAMES[what]}, and there are {most:,}"
        )

    @property
    def limit(self) -> float:
        """Cycles that a run may take."""
        if self._limit is not None:
            return self._limit
        fastest = min(one.cost.cycles for one in self.measured if self.fits(one))
        return fastest * (1 + self.slower / 100)

    def fits(self, one: Choice) -> bool:
        """Whether there is enough of all resources."""
        return self._excess(one) <= 1

    def quick(self, one: Choice) -> bool:
        """Whether a run is short enough."""
        return one.cost.cycles <= self.limit

    def text(self, one: Choice) -> str:
        """The lanes as ``--lanes`` takes them, without names that change nothing."""
        lanes, wanted = dict(one.lanes), lanes_by_node(self.graph, one.lanes)
        for name in [*lanes]:
            fewer = {key: n for key, n in lanes.items() if key != name}
            if name != OTHERS and lanes_by_node(self.graph, fewer) == wanted:
                lanes = fewer
        return ",".join(str(n) if name == OTHERS else f"{name}={n}" for name, n in lanes.items())

    def _excess(self, one: Choice) -> float:
        """The largest share that is taken of a resource."""
        return max((one.cost.used[what] / most for what, most in self.limits.items()), default=0)

    def correct(self, one: Choice, used: Mapping[str, int]) -> None:
        """Replace what a circuit that was measured takes, as more is known of it."""
        key = self._key(one.lanes)
        cost = self._known[key] = replace(one.cost, used=used)
        self.measured = [
            replace(other, cost=cost) if self._key(other.lanes) == key else other
            for other in self.measured
        ]

    def _throughout(self) -> Iterator[Choice]:
        """All operators with the same lanes, from the most on; those that are held keep theirs.

        The last one is that which is too slow, since with fewer lanes runs are seldom shorter.
        """
        lanes = self.most
        while lanes:
            one = self._choice({OTHERS: lanes, **self.held}, "", None)
            if one is not None:
                yield one
                if self.fits(one) and not self.quick(one):
                    break
            lanes //= 2

    def _key(self, lanes: Lanes) -> tuple[int, ...]:
        """By node its lanes: what makes two circuits the same."""
        return (*lanes_by_node(self.graph, lanes).values(),)

    def _choice(
        self, lanes: Mapping[str, int], group: str, before: Choice | None, most: float = inf
    ) -> Choice | None:
        """A circuit with these lanes; None where there is none whose run has `most` cycles."""
        key = self._key(lanes)
        if key not in self._known and self._tried.get(key, 0) < most:
            self._tried[key] = most
            cost = self._measure(lanes, most)
            if cost is not None:
                self._known[key] = cost
                self.measured.append(Choice(lanes, cost, group, before))
        known = self._known.get(key)
        return None if known is None else Choice(lanes, known, group, before)

    def _changed(self, at: Choice, group: str, double: bool, most: float) -> Choice | None:
        """With twice or half as many lanes of a group; None where that can't be."""
        now = self._lanes_of(at, group)
        lanes = 2 * now if double else now // 2
        if not 1 <= lanes <= self.most:
            return None
        own = {name: n for name, n in at.lanes.items() if name not in self.held}
        try:
            return self._choice({**own, group: lanes, **self.held}, group, at, most)
        except StepError:  # as a memory and those that read it have the same lanes
            return None

    def _lanes_of(self, at: Choice, group: str) -> int:
        """The most lanes that an operator of a group has, of those that are not held."""
        if group == OTHERS or (group in at.lanes and group not in self.held):
            return at.lanes[group]
        of = lanes_by_node(self.graph, at.lanes)
        return max(of[name] for name, own in self._free.items() if own == group)

    def _smaller(self, at: Choice) -> Choice:
        """Halve lanes while the run is short enough."""
        return self._walk(at, double=False, worth=self._saved, most=lambda _: self.limit)

    def _saved(self, before: Choice, after: Choice) -> Worth | None:
        saved, lost = before.cost.luts - after.cost.luts, after.cost.cycles - before.cost.cycles
        if (
            saved <= 0
            or not self.quick(after)
            or self._excess(after) > max(1, self._excess(before))
        ):
            return None
        return (True, saved) if lost <= 0 else (False, saved / lost)

    def _faster(self, at: Choice, until: Callable[[Choice], bool] = lambda _: False) -> Choice:
        """Double lanes while that makes the run shorter, and the circuit fits."""
        return self._walk(
            at, double=True, worth=self._gained, until=until, most=lambda at: at.cost.cycles - 1
        )

    def _gained(self, before: Choice, after: Choice) -> Worth | None:
        gained, more = before.cost.cycles - after.cost.cycles, after.cost.luts - before.cost.luts
        if gained <= 0 or not self.fits(after):
            return None
        return (True, gained) if more <= 0 else (False, gained / more)

    def _fit(self, throughout: list[Choice]) -> None:
        """Look for the fastest circuit that fits, where that with the most lanes does not."""
        fitting = next((one for one in throughout if self.fits(one)), None)
        if fitting is not None:
            self._fastest(fitting)
        over = throughout[-1] if fitting is None else throughout[throughout.index(fitting) - 1]
        at = self._walk(over, double=False, worth=self._freed, until=self.fits)
        if self.fits(at):
            self._fastest(at)

    def _fastest(self, at: Choice) -> None:
        """Give what can be spared, without a longer run, to those that make it shorter."""
        while True:
            self._limit = at.cost.cycles
            after = self._faster(self._smaller(at))
            if after.cost.cycles >= at.cost.cycles:
                break
            at = after
        self._limit = None

    def _freed(self, before: Choice, after: Choice) -> Worth | None:
        freed = self._excess(before) - self._excess(after)
        lost = after.cost.cycles - before.cost.cycles
        if freed <= 0:
            return None
        return (True, freed) if lost <= 0 else (False, freed / lost)

    def _walk(
        self,
        at: Choice,
        *,
        double: bool,
        worth: Callable[[Choice, Choice], Worth | None],
        until: Callable[[Choice], bool] = lambda _: False,
        most: Callable[[Choice], float] = lambda _: inf,
    ) -> Choice:
        """Make the change that is worth the most, as long as one is worth anything.

        A change that makes a run longer than `most` says is worth nothing.
        """

        def measured(group: str) -> tuple[Choice | None, Worth | None]:
            after = self._changed(at, group, double, most(at))
            return after, None if after is None else worth(at, after)

        todo = {*self.groups}
        while todo and not until(at):
            changed = set[str]()
            worths = {group: measured(group)[1] for group in sorted(todo)}
            open_ = {group: one for group, one in worths.items() if one is not None}
            while open_ and not until(at):
                group = max(open_, key=lambda name: open_[name])
                after, now = measured(group)
                if after is None or now is None:
                    del open_[group]
                elif now < max(open_.values()):
                    open_[group] = now
                else:
                    at, open_[group] = after, now
                    changed.add(group)
            todo = self._near(changed) if changed else set()
        return at

    def _near(self, groups: set[str]) -> set[str]:
        """Groups beside which others have changed: what stands between them may be gone."""
        if OTHERS in groups:
            return {*self.groups}
        return groups | {OTHERS} | {b for a, b in self._neighbours if a in groups}

    @cached_property
    def _neighbours(self) -> set[tuple[str, str]]:
        """Pairs of groups of which one takes what the other makes, in both orders."""
        before: dict[Node, set[str]] = {}
        found = set[tuple[str, str]]()
        for node in self.graph.nodes:
            own = self.group_of[node.name]
            makers = {x.resolved().node for x in node.inputs}
            from_ = {name for maker in makers for name in before.get(maker, ())}
            found |= {(own, name) for name in from_ if own}
            before[node] = {own} if own else from_
        return found | {(b, a) for a, b in found}


NAMES = {LUT: "LUT", "ff": "FF", "multiplier": "multipliers", "block_ram": "block RAMs"}
"""Resources as messages have them."""
