"""What each reconvergence of a design requires of the channels upstream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ...hw.design.pace import RUN, Pace
from .network import Block, Edge


@dataclass(frozen=True)
class Choice:
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
        found = self.paces.get(edge.name, Pace(RUN) if self.level == RUN else None)
        return found if found and found.aligned else None


@dataclass(frozen=True)
class Requirement:
    """While a part waits at one input, another of its inputs must not block what it waits for.

    Some cut of edges between the `starts` and `full` must have space for the epochs of one of the
    `choices`.

    Attributes
    ----------
    block : Block
    full, awaited : Edge
        Both inputs of the part that waits.
    choices : tuple of Choice
        At least one: the entire run.
    """

    block: Block
    full: Edge
    awaited: Edge
    choices: tuple[Choice, ...]

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
    seen = set()
    for joint in block.order:
        if not block.parts[joint].waits:
            continue
        given = block.parts[joint].given
        for full in block.ins[joint]:
            for awaited in block.ins[joint]:
                if awaited == full or awaited.name in given:
                    continue
                clock = block.clock(full, awaited)
                choices = _choices(block, clock, joint, full, awaited)
                key = full.name, clock, tuple((c.level, c.epochs) for c in choices)
                if choices and key not in seen:
                    seen.add(key)
                    yield Requirement(block, full, awaited, choices)


def _choices(
    block: Block, clock: int | None, joint: int, full: Edge, awaited: Edge
) -> tuple[Choice, ...]:
    """The clocks that bound when the awaited beats arrive; none if they never wait for `full`."""
    if clock is None:
        return (Choice(RUN, 1, {}),)
    meets = block.parts[joint].meets
    choices = []
    for level in (*range(block.levels(clock) + 1), RUN):
        paces = block.paces(clock, level)
        a, b = paces[full.name], paces[awaited.name]
        if not (a.aligned and b.aligned) or math.isinf(b.lag):
            continue
        if a.level < meets.get(full.name, 0) or b.level < meets.get(awaited.name, 0):
            continue
        if b.prompt:
            return ()
        choices.append(Choice(level, int(b.lag) + 1, paces))
    return tuple(choices)
