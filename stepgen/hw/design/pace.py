"""Pace of a channel: what it carries of each group that some unit upstream sends (its clock)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepgen.ir.dims import Dim

RUN = 1 << 20
"""Level of the epoch that is the complete run, its ``DONE`` included."""


@dataclass(frozen=True)
class Extent:
    """What is known at compile time of one dim of a channel.

    Attributes
    ----------
    bound : float
        Longest group; infinite if it is unknown.
    may_be_empty : bool
    name : str
        For messages.
    """

    bound: float
    may_be_empty: bool
    name: str

    @classmethod
    def of(cls, dim: Dim) -> Extent:
        """The extent of a dim of a type."""
        return cls(math.inf if dim.bound is None else dim.bound, dim.may_be_empty, str(dim))

    def __mul__(self, other: Extent) -> Extent:
        bound = 0 if 0 in (self.bound, other.bound) else self.bound * other.bound
        empty = self.may_be_empty or other.may_be_empty
        return Extent(bound, empty, f"{self.name}*{other.name}")


Extents = Sequence[Extent]
"""The dims of a channel, innermost first: groups of level k are counted by dim k."""


def span(extents: Extents, low: int, high: int) -> float:
    """Most groups of level `low` in one of level `high`; an empty group is one beat too."""
    return math.prod((max(1, e.bound) for e in extents[low:high]), start=1.0)


@dataclass(frozen=True)
class Pace:
    """What a channel carries of each epoch of a clock, and when.

    A clock is the groups of one wire level that a unit sends, numbered: its epochs.

    Attributes
    ----------
    level, groups : int, float
        An epoch is at most `groups` complete groups of this wire level.
    lag : float
        Epochs that the clock must have sent beyond one before all beats of that one are sent;
        infinite where no number suffices.
    sparse : bool
        Whether an epoch may send nothing.
    opened : bool
        Whether the first beat of an epoch is sent once the clock has sent its first.
    prompt : bool
        Whether all beats of an epoch are sent by then.
    replayed : str
        Queue that must hold the complete tile of an epoch before its second copy is sent.
    closed : str
        Queue that must hold an epoch completely before its first beat is sent.
    aligned : bool
        False where epochs are not complete groups: only a coarser clock gives information.
    """

    level: int
    groups: float = 1
    lag: float = 0
    sparse: bool = False
    opened: bool = False
    prompt: bool = False
    replayed: str = ""
    closed: str = ""
    aligned: bool = True

    def count(self, extents: Extents, level: int) -> float:
        """Most groups of `level` in an epoch."""
        if self.level == RUN:
            return span(extents, level, len(extents))
        return self.groups * span(extents, level, self.level)

    def room(self, extents: Extents, level: int = 0) -> float:
        """Most groups of `level` (0: beats) of an epoch that have to be stored, with ``DONE``."""
        return self.count(extents, level) + (self.level == RUN)

    def moved(self, least: int, by: int) -> Pace:
        """The pace where groups from level `least` on are groups `by` levels higher."""
        if self.level == RUN:
            return self
        return replace(self, level=self.level + by) if self.level >= least else UNALIGNED

    def reopened(self) -> Pace:
        """The pace of what no queue holds back any more."""
        return replace(self, closed="") if self.closed else self

    def apart(self) -> Pace:
        """The pace of a source that sends independently of others."""
        return replace(self, opened=False, prompt=False) if self.opened or self.prompt else self

    def after(self, *others: Pace | None) -> Pace:
        """The pace of an output that also waits for `others`, which don't change its structure."""
        known = [o for o in others if o is not None]
        if not known:
            return self
        return replace(
            self,
            lag=max([self.lag, *(o.lag for o in known)]),
            opened=self.opened and all(o.prompt for o in known),
            prompt=self.prompt and all(o.prompt for o in known),
        )

    def normal(self, extents: Extents) -> Pace:
        """The same epochs at the highest level: a dim of at most 1 joins the level above it."""
        if not self.aligned or self.level == RUN:
            return self
        level = self.level
        while level < len(extents) - 1 and extents[level].bound <= 1:
            level += 1
        return self if level == self.level else replace(self, level=level)


UNALIGNED = Pace(0, math.inf, math.inf, aligned=False)

Paces = Mapping[str, Pace]


@dataclass(frozen=True)
class Queue:
    """A queue inside a unit, of fixed size.

    Attributes
    ----------
    extents : Extents
        Dims of the beats that pass through it.
    holds : sequence of (int, int)
        Levels, and how many groups of each it holds.
    done : bool
        Whether ``DONE`` takes the place of a group.
    """

    extents: Extents
    holds: Sequence[tuple[int, float]]
    done: bool = True

    def takes(self, pace: Pace, epochs: float, *, done: bool = True) -> bool:
        """Whether `epochs` epochs fit, with the ``DONE`` of a run or without."""
        room = pace.room if self.done and done else pace.count
        return all(epochs * room(self.extents, level) <= n for level, n in self.holds)


def copied(*outputs: str) -> Callable[[Paces], Paces]:
    """The paces of outputs that each carry a beat for one beat of every input."""

    def follow(paces: Paces) -> Paces:
        x, *others = paces.values()
        x = x.after(*others)
        one = x.level == 0 and x.groups == 1
        if len(outputs) > 1 and not one:  # copies may be taken at different times
            x = replace(x, prompt=False)
        return dict.fromkeys(outputs, x)

    return follow


@dataclass(frozen=True)
class Part:
    """An actor of a unit, for the sizing of FIFOs: what it consumes before it produces.

    Attributes
    ----------
    inputs, outputs : tuple of str
        Channels, and queues inside the unit.
    follow : function
        The paces of all outputs from those of the inputs that follow a clock.
    meets : mapping of str to int
        By input, the level from which on a part that waits at one input for a group has consumed
        all earlier groups of the other inputs; 0 for inputs that are missing here.
    keeps : mapping of str to int
        Beats of an input that it has consumed while it still waits for those that belong to them.
    queues : mapping of str to Queue
        The queues among its outputs.
    clock : str
        Channel whose levels number what it sends; by default the first output.
    start : function, optional
        The paces of the outputs when the part itself is the clock, by level.
    turn : int
        Least cycles from a beat of the first input to the next.
    steady : bool
        Whether those are an average: it takes rows of its first input at once, ahead of the one
        that it works on, and sends the beats of a row at equal distances.
    waits : bool
        Whether it may wait at one input while another has a beat.
    given : tuple of str
        Inputs whose beats are there as soon as those of the others are: it never waits for them.
    routes_by : str
        Selectors that decide where the chunks of its first input go.
    picks : tuple of str
        Inputs from which it takes chunks as selectors say, which are its other input.
    single : bool
        Whether such a selector names one input at most.
    numbers : mapping of str to str
        By output whose stops are rewritten, the channel as it was before: its levels number what
        the part sends.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    follow: Callable[[Paces], Paces]
    meets: Mapping[str, int] = field(default_factory=dict)
    keeps: Mapping[str, int] = field(default_factory=dict)
    queues: Mapping[str, Queue] = field(default_factory=dict)
    clock: str = ""
    start: Callable[[Pace], Paces] | None = None
    turn: int = 1
    steady: bool = False
    waits: bool = True
    given: tuple[str, ...] = ()
    routes_by: str = ""
    picks: tuple[str, ...] = ()
    single: bool = False
    numbers: Mapping[str, str] = field(default_factory=dict)

    def behind(self, x: str, y: str, step: Part, extents: Extents) -> Part:
        """The part with an output `y` in place of `x`, whose stops a `step` has rewritten.

        Parameters
        ----------
        x, y : str
        step : Part
            From `x` to `y`.
        extents : Extents
            The dims of `x`.
        """

        def rewritten(paces: Paces) -> Paces:
            left = {name: pace for name, pace in paces.items() if name != x}
            if x not in paces:
                return left
            return {**left, **step.follow({x: paces[x].normal(extents)})}

        outputs = tuple(y if name == x else name for name in self.outputs)
        numbers = {y: self.numbers.get(x, x)} | {k: v for k, v in self.numbers.items() if k != x}
        return replace(
            self,
            outputs=outputs,
            follow=lambda paces: rewritten(self.follow(paces)),
            start=lambda pace: rewritten(
                self.start(pace) if self.start else dict.fromkeys(self.outputs, pace)
            ),
            numbers=numbers,
        )

    def starts(self, level: int) -> Paces:
        """The paces of the outputs against the groups of `level` that the part sends."""
        pace = Pace(level, opened=True, prompt=level == 0)
        return self.start(pace) if self.start else dict.fromkeys(self.outputs, pace)
