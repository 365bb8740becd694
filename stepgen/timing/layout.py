"""Layout of actors and channels in the state array of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from stepgen.ir.arguments import take
from stepgen.ir.errors import StepError
from stepgen.ir.wire import Beats
from stepgen.timing import kernel as k
from stepgen.timing.scratch import scratch

FAR = 1 << 14
"""Most cycles ahead for which an actor that waits is scheduled; then it asks again."""
LOG_WORDS = 1 << 16
ACTORS = 1 << k.KEY_BITS - 2
"""Most actors: a log entry has an actor's number above two bits for its state."""


def structure(beats: Beats) -> npt.NDArray[np.int64]:
    """Kind, stop and low of beats as words of the kernel, without the aux field."""
    words: npt.NDArray[np.int64] = (
        beats.kind.astype(np.int64)
        | beats.stop.astype(np.int64) << k.STOP_SHIFT
        | beats.low.astype(np.int64) << k.LOW_SHIFT
    )
    return words


@dataclass(frozen=True)
class Actor:
    """One actor of a unit: the address of its record, and its name in reports."""

    address: int
    unit: str
    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]


class Layout:
    """The state array under construction.

    Parameters
    ----------
    title : str
        The design or program, for messages.

    Attributes
    ----------
    actors : list of Actor
        In the order in which they were added.
    names : dict of int to str
        Name of the channel at each address.
    horizon : int
        Most cycles ahead for which an actor may schedule its next step.
    control : int
        Cycles from the last actor's end to the end of the run.
    waits_are_events : bool
        Whether an actor acts only where something changes; actors of machines also act for as long
        as an operation takes.
    """

    control = 0
    waits_are_events = False

    def __init__(self, title: str) -> None:
        self.title = title
        self.steps: list[k.Step] = []
        self.actors: list[Actor] = []
        self.names: dict[int, str] = {}
        self.horizon = 16
        self._begun = np.zeros(k.HEADER, np.int64)  # what it begins with, shared with copies
        self._words: dict[int, Sequence[int] | npt.NDArray[np.int64]] = {}
        self._ends: dict[int, int] = {}  # by a word of a channel, its producer or consumer
        self._size = k.HEADER
        self._finishers = 0

    def settle(self) -> None:
        """Keep what has been laid out as one array, which copies share."""
        self._begun, self._words, self._ends = self._state(self._size), {}, {}

    def copied(self) -> Self:
        """A layout that begins as this one; what is added to either is not in the other."""
        made = copy(self)
        made._words, made._ends = {**self._words}, {**self._ends}
        made.steps, made.actors = [*self.steps], [*self.actors]
        made.names = {**self.names}
        return made

    def _state(self, size: int) -> npt.NDArray[np.int64]:
        """An array of this size with the words that are laid out so far."""
        M = np.zeros(size, np.int64)
        M[: len(self._begun)] = self._begun
        for address, words in self._words.items():
            M[address : address + len(words)] = words
        for address, actor in self._ends.items():
            M[address] = actor
        return M

    def reach(self, wait: int) -> None:
        """Let actors schedule steps so many cycles ahead, or `FAR` ones, and then ask again."""
        self.horizon = max(self.horizon, min(wait, FAR) + 2)

    def reserve(self, words: Sequence[int] | npt.NDArray[np.int64]) -> int:
        """Place `words` in the array and return their address."""
        address = self._size
        self._words[address] = words
        self._size += len(words)
        return address

    def new_channel(
        self,
        name: str,
        depth: int,
        latency: int,
        index: int,
        *,
        capacity: int = 1,
        restop: int = 0,
        more: Sequence[int] = (),
    ) -> int:
        """A FIFO of `depth` beats; its beats are logged unless `index` is negative.

        Its ring stores the last `capacity` beats, at least `depth`; `restop` is the address of what
        becomes of levels, if they are rewritten; the words in `more` follow its record.
        """
        slots = 1 << (max(depth, capacity) - 1).bit_length()
        self.reach(latency)
        ring = self._size
        self._size += k.SLOT * slots
        words = [depth, latency, 0, 0, ring, slots - 1, 0, 0, index, 0, restop, 0, *more]
        address = self.reserve(words)
        self.names[address] = name
        return address

    def actor(
        self,
        unit: str,
        name: str,
        step: k.Step,
        own: Sequence[int],
        *,
        reads: Sequence[int],
        writes: Sequence[int],
        finishes: bool = False,
    ) -> int:
        """Add an actor.

        Parameters
        ----------
        unit, name : str
            Its unit, and its name in it.
        step : step function
            Called in every cycle in which the actor may act.
        own : sequence of int
            Its own fields, from `kernel.OWN` on: ports, parameters, state.
        reads, writes : sequence of int
            Addresses of the channels whose pushes and pops may wake it, as consumer and producer.
        finishes : bool
            Whether the run lasts until this actor has called `kernel.finish`.
        """
        if not k.is_step(step):
            code = step.__code__
            raise StepError(
                f"{step.__name__} at {Path(code.co_filename).name}:{code.co_firstlineno}, of the "
                f"actor {name} of {unit}, is not a step function: write @step above it"
            )
        if not step.__module__.startswith("stepgen."):
            for key, value, hint in (
                ("unit", unit, str),
                ("name", name, str),
                ("own", own, Sequence),
                ("reads", reads, Sequence),
                ("writes", writes, Sequence),
            ):
                take(value, hint, "actor", key)
        if step not in self.steps:
            self.steps.append(step)
        head = [0] * k.OWN
        head[k.STEP_INDEX] = self.steps.index(step)
        head[k.STATE] = k.EMPTY_INPUT
        address = self.reserve([*head, *own])
        for c in reads:
            self._ends[c + k.CONSUMER] = address
        for c in writes:
            self._ends[c + k.PRODUCER] = address
        self.actors.append(Actor(address, unit, name, tuple(reads), tuple(writes)))
        self._finishers += finishes
        return address

    def build(self) -> npt.NDArray[np.int64]:
        """The state array, with every actor scheduled for cycle 0.

        Raises
        ------
        StepError
            If there are more actors than a log entry can encode.
        """
        if len(self.actors) > ACTORS:
            raise StepError(
                f"{self.title} needs {len(self.actors)} actors, but the engine takes {ACTORS}"
            )
        wheel_size = 1 << (self.horizon + 2).bit_length()
        sizes = [
            wheel_size,
            LOG_WORDS + k.LOG_PER_ACTOR * len(self.actors),
            LOG_WORDS + len(self.actors),
        ]
        wheel, log, trace, end = (self._size + sum(sizes[:n]) for n in range(4))
        M = scratch(end)
        M[: self._size] = self._state(self._size)
        M[wheel:log] = 0
        M[k.LOG], M[k.LOG_END] = log, trace
        M[k.TRACE], M[k.TRACE_END] = trace, end
        M[k.ACTORS], M[k.RUNNING] = len(self.actors), self._finishers
        M[k.WHEEL], M[k.WHEEL_MASK] = wheel, wheel_size - 1
        for number, actor in enumerate(self.actors):
            M[actor.address + k.ACTOR_ID] = number
            M[actor.address + k.NEXT] = M[wheel]
            M[wheel] = actor.address
        return M
