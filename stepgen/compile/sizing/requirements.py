"""What each reconvergence of a design requires of the channels upstream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from stepgen.compile.sizing.network import Block, Edge
from stepgen.hw.design.pace import RUN, Pace

ENTIRE = Pace(RUN)
"""Of what no clock sends, by the entire run."""

_At = int | frozenset[int]
"""A part whose groups are the epochs, or the sources that have epochs in common."""


@dataclass(frozen=True)
class Clock:
    """One clock, in whose epochs the space of a requirement can be counted.

    Attributes
    ----------
    level : int
        Of the groups that the clock sends.
    epochs : int
        Number of epochs that must fit.
    paces : dict of str to Pace
        Paces of the edges that follow the clock.
    """

    level: int
    epochs: int
    paces: dict[str, Pace]

    def pace(self, edge: Edge) -> Pace | None:
        """The pace of an edge; None if it is unknown."""
        found = self.paces.get(edge.name)
        if found is None:
            return ENTIRE if self.level == RUN else None
        return found if found.aligned else None


@dataclass(frozen=True)
class Requirement:
    """While a part waits at one input, another of its inputs must not block what it waits for.

    Some cut of edges between the `starts` and `full` must have space for the epochs of one of the
    `choices`.

    Attributes
    ----------
    block : Block
    full : Edge
        An input of the part that waits.
    awaited : tuple of Edge
        The inputs that it waits at, of which the choices hold alike.
    choices : tuple of Choice
        At least one: the entire run.
    """

    block: Block
    full: Edge
    awaited: tuple[Edge, ...]
    choices: tuple[Clock, ...]

    @cached_property
    def starts(self) -> set[int]:
        """Parts that feed `full` by one output, and by another a part that may wait for it."""
        above = self.block.above[self.full.tail]
        leaves: dict[int, bool] = {}
        starts = set()
        for n in reversed(self.block.order):
            if n not in above:
                continue
            outs = self.block.outs[n]
            exits = [e for e in outs if e != self.full and leaves.get(e.head, True)]
            inside = [e for e in outs if e == self.full or e.head in above]
            leaves[n] = bool(exits)
            if exits and inside and {e.name for e in (*exits, *inside)} != {exits[0].name}:
                starts.add(n)
        return starts


def requirements(block: Block) -> Iterator[Requirement]:
    """All requirements of a block, except those that its structure meets."""
    clocks = _Clocks(block)
    for joint in block.order:
        for full in block.ins[joint]:
            alike: dict[tuple[frozenset[int], tuple[tuple[int, int], ...]], list[Edge]] = {}
            known: dict[tuple[frozenset[int], tuple[tuple[int, int], ...]], Requirement] = {}
            for awaited in block.ins[joint]:
                if awaited == full or never_waits(block, joint, full, awaited):
                    continue
                clock = block.clock(full, awaited)
                choices = clocks.choices(clock, full, awaited)
                by = block.sources(full) | block.sources(awaited) if clock is None else {clock}
                key = frozenset(by), tuple((c.level, c.epochs) for c in choices)
                if not choices:
                    continue
                alike.setdefault(key, []).append(awaited)
                if key not in known:
                    known[key] = Requirement(block, full, (awaited,), choices)
            for key, need in known.items():
                yield replace(need, awaited=(*alike[key],))


def never_waits(block: Block, joint: int, full: Edge, awaited: Edge) -> bool:
    """Whether a part does not wait at an input while another one is full."""
    part = block.parts[joint]
    if not part.waits or awaited.name in part.given:
        return True
    return _routed_together(block, joint, full, awaited)


class _Clocks:
    """The clocks of a block that bound when awaited beats arrive.

    A merge of k inputs has a pair of any two, so what depends on one of them is kept.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._paces: dict[_At, list[tuple[int, dict[str, Pace]]]] = {}
        self._steady: dict[tuple[_At, Edge], tuple[bool, ...]] = {}
        self._choices: dict[tuple[_At, Edge, tuple[bool, ...]], tuple[Clock, ...]] = {}

    def choices(self, clock: int | None, full: Edge, awaited: Edge) -> tuple[Clock, ...]:
        """Those of two inputs of a part; none if the awaited beats never wait for `full`."""
        block = self._block
        at = block.sources(full) | block.sources(awaited) if clock is None else clock
        steady = self._of_input(at, full)
        key = at, awaited, steady
        if key not in self._choices:
            self._choices[key] = self._bounding(at, awaited, steady)
        return self._choices[key]

    def _at(self, at: _At) -> list[tuple[int, dict[str, Pace]]]:
        """Levels of a clock, or of what several sources have in common, and paces by each."""
        if at not in self._paces:
            block = self._block
            if isinstance(at, frozenset):
                found = [(0, one.paces) for one in block.numberings if at <= one.levels.keys()]
            else:
                levels = (*range(block.levels(at) + 1), RUN)
                found = [(level, block.paces(at, level)) for level in levels]
            self._paces[at] = found
        return self._paces[at]

    def _of_input(self, at: _At, edge: Edge) -> tuple[bool, ...]:
        """By which levels an input comes in groups that its part takes."""
        key = at, edge
        if key not in self._steady:
            least = self._block.parts[edge.head].meets.get(edge.name, 0)
            paces = [paces[edge.name] for _, paces in self._at(at)]
            self._steady[key] = tuple(one.aligned and one.level >= least for one in paces)
        return self._steady[key]

    def _bounding(self, at: _At, awaited: Edge, steady: tuple[bool, ...]) -> tuple[Clock, ...]:
        """Those by whose levels the other input, which is full, is steady."""
        choices = []
        own = self._of_input(at, awaited)
        for (level, paces), one, other in zip(self._at(at), own, steady, strict=True):
            pace = paces[awaited.name]
            if not (one and other) or math.isinf(pace.lag):
                continue
            if pace.prompt:
                return ()
            choices.append(Clock(level, int(pace.lag) + 1, paces))
        if isinstance(at, frozenset):
            choices.append(Clock(RUN, 1, {}))
        return tuple(choices)


def _routed_together(block: Block, joint: int, full: Edge, awaited: Edge) -> bool:
    """Whether what a merge waits for never waits for the chunks that it does not take meanwhile.

    If its selectors also routed the chunks, one that is there was named by a selector that is there
    too. If moreover each selector names one consumer, the chunk that is there comes after the one
    that is awaited, so the route has sent all of that.
    """
    part, picks = block.parts[joint], block.network.picks[joint]
    if full.name not in picks:
        return False
    selectors = block.selectors[joint]
    if selectors is None:
        return False
    routes = block.routes(selectors) & block.above[full.tail]
    if awaited == selectors:
        return any(_first_inputs_lead(block, route, full) for route in routes)
    return part.single and any(
        _in_order(block, route, joint, full, awaited)
        for route in routes
        if route in block.above[awaited.tail]
    )


def _in_order(block: Block, route: int, joint: int, full: Edge, awaited: Edge) -> bool:
    """Whether a merge waits for one chunk of a route while a later one of it is there."""
    meets = block.parts[joint].meets
    paces = block.paces(route, block.parts[route].meets[block.parts[route].inputs[0]])
    a, b = paces[full.name], paces[awaited.name]
    one_each = a.groups == 1 == b.groups and a.level == meets[full.name] == b.level
    return a.aligned and b.aligned and one_each and b.lag == 0


def _first_inputs_lead(block: Block, route: int, edge: Edge) -> bool:
    """Whether an edge lies below a route by first inputs alone.

    No part sends a beat of an epoch before it has one of its first input. Of others it may.
    """
    while edge.tail != route:
        part = block.parts[edge.tail]
        above = [e for e in block.ins[edge.tail] if e.name == part.inputs[0]]
        if not above or part.picks:
            return False
        edge = above[0]
    return True
