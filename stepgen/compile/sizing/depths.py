"""The smallest FIFO depths, by bits, that meet all requirements of a design."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from stepgen.compile.sizing.flow import Flow
from stepgen.compile.sizing.network import Block, Edge, Network
from stepgen.compile.sizing.requirements import Clock, Requirement, requirements
from stepgen.compile.sizing.waits import Break, Wait, Waits, meet
from stepgen.hw.design.pace import RUN, Extents
from stepgen.hw.design.table import Channel, Design
from stepgen.ir.errors import StepError

SOURCE, SINK = -2, -3
"""Source and sink of the flow network of a requirement."""

HUGE = 1 << 60
"""Cost of a dim without bound, to choose the channel that an error names."""

Cost = Callable[[Requirement, Clock, Edge], float]


class Unbounded(StepError):
    """No depth is enough, since what a channel may have to hold has no bound.

    Attributes
    ----------
    channel, awaited : str
        The channel, and the one that its consumer waits for meanwhile.
    unit : str
        The consumer.
    dims : list of str
        The dims of the channel that have no bound.
    """

    def __init__(self, channel: str, awaited: str, unit: str, dims: list[str]) -> None:
        super().__init__(f"{channel} has no bound while {unit} waits for {awaited}")
        self.channel, self.awaited, self.unit, self.dims = channel, awaited, unit, dims


@dataclass(frozen=True)
class Cut:
    """Channels that are made deeper for a requirement, and the bits that this costs."""

    bits: float
    choice: Clock
    edges: list[Edge]


class Sizing:
    """Derives depths; they only grow.

    Parameters
    ----------
    design : Design
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : collection of str
        Channels that are read before they are written: the ends of loops.
    """

    def __init__(
        self, design: Design, extents: Mapping[str, Extents], fed_back: Collection[str] = ()
    ) -> None:
        self.network = Network(design, extents, fed_back)
        self.channels: dict[str, Channel] = design.channel
        self.depths: dict[str, int] = {}
        self._following: dict[Wait, list[Wait]] = {}
        self._known: dict[tuple[str, int], int] = {}

    def settle(self) -> None:
        """Meet all requirements, the largest first: depth that is already there costs nothing.

        Raises
        ------
        Unbounded
        """
        todo = [need for block in self.network.blocks() for need in requirements(block)]
        first = [self.cheapest(need, self.growth) for need in todo]
        order = sorted(range(len(todo)), key=lambda n: -first[n].bits)
        for n in order:
            self._meet(todo[n])

    def _meet(self, need: Requirement) -> None:
        """Meet one requirement: by space for what it awaits, or by breaking cycles of waits."""
        cut = self.cheapest(need, self.growth)
        if not cut.bits:
            return
        other = self.excluding(need, cut.bits)
        if other.bits < cut.bits:
            for choice, edge in other.edges:
                self.depths[edge.name] = int(self.room(need.block, choice, edge))
            return
        if math.isinf(cut.bits):
            raise self.unbounded(need)
        for edge in cut.edges:
            depth = self.depth(need, cut.choice, edge)
            if edge.queue is None and self.growth(need, cut.choice, edge):
                self.depths[edge.name] = int(depth)

    def excluding(self, need: Requirement, most: float) -> Break:
        """The cheapest depths that leave no cycle of waits through both inputs; see `Waits`."""
        block = need.block
        clocks = chain.from_iterable(_clocks(block, need.full, one) for one in need.awaited)
        choices = [
            *(
                Clock(level, 1, block.paces(clock, level))
                for clock in dict.fromkeys(clocks)
                for level in range(block.levels(clock) + 1)
            ),
            *(Clock(0, 1, one.paces) for one in block.numberings),
        ]
        meeting = [one for one in choices if meet(block, one, need.full, *need.awaited)]
        return Waits(need, partial(self.cost, block), self._following).cheapest(meeting, most)

    def room(self, block: Block, choice: Clock, edge: Edge) -> float:
        """Beats of an epoch."""
        pace = choice.pace(edge)
        if pace is None:
            return math.inf
        return pace.room(edge.extents) - _done_may_wait(block, choice, edge)

    def cost(self, block: Block, choice: Clock, edge: Edge) -> float:
        """Bits that an edge grows by to hold an epoch."""
        pace = choice.pace(edge)
        if edge.queue is not None:
            done = not _done_may_wait(block, choice, edge)
            return 0 if pace and edge.queue.takes(pace, 1, done=done) else math.inf
        return self._grown(edge, self.room(block, choice, edge))

    def cheapest(self, need: Requirement, cost: Cost) -> Cut:
        """The choice and the cut that cost the least."""
        found = Cut(math.inf, need.choices[0], [])
        for choice in need.choices:
            if cost(need, choice, need.full) == 0:
                return Cut(0, choice, [])
            found = min(found, _cut(need, choice, cost, found.bits), key=lambda cut: cut.bits)
        return found

    def depth(self, need: Requirement, choice: Clock, edge: Edge) -> float:
        """Beats that a channel must hold if the requirement is met there."""
        pace = choice.pace(edge)
        if pace is None:
            return math.inf
        beats = choice.epochs * pace.room(edge.extents)
        beats -= _done_waits(need, choice, edge)
        if edge == need.full:
            beats -= need.block.parts[edge.head].keeps.get(edge.name, 0)
        return beats

    def growth(self, need: Requirement, choice: Clock, edge: Edge) -> float:
        """Bits that an edge grows by if the requirement is met there."""
        if self._closes(need, choice, edge):
            return 0
        if edge.queue is not None:
            pace = choice.pace(edge)
            done = not _done_waits(need, choice, edge)
            return 0 if pace and edge.queue.takes(pace, choice.epochs, done=done) else math.inf
        return self._grown(edge, self.depth(need, choice, edge))

    def _grown(self, edge: Edge, depth: float) -> float:
        """Bits that a channel grows by to a depth."""
        channel = self.channels[edge.name]
        now = self.depths.get(edge.name, channel.depth)
        if depth <= now:
            return 0
        if math.isinf(depth):
            return math.inf
        return self._bits(channel, int(depth)) - self._bits(channel, now)

    def _bits(self, channel: Channel, depth: int) -> int:
        """Bits of a channel of some depth."""
        key = channel.name, depth
        if key not in self._known:
            self._known[key] = channel.memory_bits_of(depth)
        return self._known[key]

    def _closes(self, need: Requirement, choice: Clock, edge: Edge) -> bool:
        """Whether a queue between the starts and an edge holds an epoch back until it is complete.

        Then the awaited beats of the epoch have been sent too, if they do not lag.
        """
        pace = choice.pace(edge)
        if choice.epochs > 1 or pace is None or not pace.closed:
            return False
        behind = need.block.below.get(self.network.edges[pace.closed].head, set())
        return not (need.starts & behind & need.block.above[edge.tail])

    def unbounded(self, need: Requirement) -> Unbounded:
        """The error for a requirement that no depth meets; it names the cheapest channel."""

        def cost(need: Requirement, choice: Clock, edge: Edge) -> float:
            bits = self.growth(need, choice, edge)
            missing = sum(math.isinf(e.bound) for e in edge.extents)
            return bits if edge.queue or bits < math.inf else missing * HUGE

        run = replace(need, choices=need.choices[-1:])
        cut = self.cheapest(run, cost)
        loose = [e for e in cut.edges if any(math.isinf(d.bound) for d in e.extents)]
        edge = loose[0] if loose else need.full
        dims = [d.name for d in reversed(edge.extents) if math.isinf(d.bound)]
        unit = self.network.units[need.full.head].name
        return Unbounded(edge.name, need.awaited[0].name, unit, dims)


def _done_may_wait(block: Block, choice: Clock, edge: Edge) -> bool:
    """Whether the ``DONE`` of a run may wait upstream of an edge, as nobody waits beside it."""
    return choice.level == RUN and len(block.outs[edge.tail]) == 1


def _done_waits(need: Requirement, choice: Clock, edge: Edge) -> bool:
    """Whether the ``DONE`` of a run may wait upstream of an edge, as awaited beats do not."""
    return choice.level == RUN and edge.tail not in need.starts


def _clocks(block: Block, full: Edge, awaited: Edge) -> list[int]:
    """Parts whose groups number what an edge carries, and what another one does or a part of it."""
    found = []
    above = block.above[full.tail]
    tail = awaited.tail
    while len(ins := block.ins[tail]) == 1:
        if tail in above:
            found.append(tail)
        tail = ins[0].tail
    clocks = (block.clock(full, edge) for edge in ins)
    return [*found, *sorted({clock for clock in clocks if clock is not None})]


def _cut(need: Requirement, choice: Clock, cost: Cost, most: float) -> Cut:
    """Minimum cut between the starts and `full`, if it takes fewer bits than `most`."""
    above = need.block.above[need.full.tail]
    edges = [e for e in need.block.edges if e == need.full or e.head in above]
    if not need.starts:
        return Cut(0, choice, [])
    flow = Flow(SOURCE, SINK)
    for edge in edges:
        head = SINK if edge == need.full else edge.head
        flow.add(edge.tail, head, cost(need, choice, edge))
    for n in need.starts:
        flow.add(SOURCE, n, math.inf)
    bits, far = flow.cut(most)
    if math.isinf(bits):
        return Cut(math.inf, choice, [])
    crossing = [e for e in edges if e.tail not in far and (e == need.full or e.head in far)]
    return Cut(bits, choice, crossing)


def derive(
    design: Design, extents: Mapping[str, Extents], fed_back: Collection[str] = ()
) -> dict[str, int]:
    """Depths, by channel, with which no run of a design without loops deadlocks.

    How many elements circulate in a loop does not follow from types: the program sets the depth of
    the stream that is fed back.

    Parameters
    ----------
    design : Design
        With the least depths of its channels.
    extents : mapping of str to Extents
        The dims of every channel of tiles, selectors or flags.
    fed_back : collection of str
        Channels that are read before they are written: the ends of loops.

    Returns
    -------
    dict of str to int
        The channels that must be deeper, with their depths in beats.

    Raises
    ------
    Unbounded
        If no depth is enough.
    """
    sizing = Sizing(design, extents, fed_back)
    sizing.settle()
    return sizing.depths
