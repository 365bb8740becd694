"""Lays out a design as the flat array that the kernel steps."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..compile.design import Design, Unit
from ..ir.errors import StepError
from ..ir.memory_timing import MemoryTiming
from ..ir.stalls import Stalls
from ..ir.wire import VALUE, Beats
from . import kernel as k

LOG_WORDS = 1 << 18
STEPS = 64


@dataclass(frozen=True)
class Actor:
    """One actor of a unit: where its record lies, and how people call it."""

    address: int
    unit: str
    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass
class Machine:
    """The machine under construction; units add their channels, tables and actors.

    Parameters
    ----------
    design : Design
        The table to lay out.
    inputs : mapping of str to Beats
        What enters through each source, by its name.
    stalls : Stalls
        When ports and memory hold back.
    memory : MemoryTiming
        When the off-chip memory answers.
    """

    design: Design
    inputs: Mapping[str, Beats]
    stalls: Stalls = field(default_factory=Stalls)
    memory: MemoryTiming = field(default_factory=MemoryTiming)
    steps: list[k.Step] = field(default_factory=list)
    actors: list[Actor] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    notes: list[tuple[str, int]] = field(default_factory=list)
    horizon: int = 16

    def __post_init__(self) -> None:
        self._words: dict[int, Sequence[int] | npt.NDArray[np.int64]] = {}
        self._size = k.HEADER
        self._finishers = 0
        self._channels: dict[str, int] = {}
        for index, c in enumerate(self.design.channels):
            self._channels[c.name] = self._new_channel(c.name, c.depth, c.latency, index)
        for unit in self.design.units:
            importlib.import_module(f"stepgen.timing.units.{unit.kind}").build(unit, self)

    def reserve(self, words: Sequence[int] | npt.NDArray[np.int64]) -> int:
        """Put `words` somewhere and return their address."""
        address = self._size
        self._words[address] = words
        self._size += len(words)
        return address

    def _new_channel(self, name: str, depth: int, latency: int, index: int) -> int:
        capacity = 1 << (depth - 1).bit_length()
        self.horizon = max(self.horizon, latency + 2)
        ring = self._size
        self._size += k.SLOT * capacity
        address = self.reserve([depth, latency, 0, 0, ring, capacity - 1, 0, 0, index])
        self.names[address] = name
        return address

    def channel(self, name: str) -> int:
        """Address of a channel of the design."""
        return self._channels[name]

    def internal(self, name: str, depth: int, latency: int = 1) -> int:
        """A new channel inside a unit, under the same rules; its beats are not logged."""
        return self._new_channel(name, depth, latency, -1)

    def stimulus(self, unit: Unit) -> npt.NDArray[np.int64]:
        """The beats that enter through a source, in the kernel's words.

        A mask of several bits (a selector) is stored as the address of one word per consumer; a
        flag is stored as it is.
        """
        if unit.name not in self.inputs:
            raise StepError(f"input {unit.name} of design {self.design.name} was given no stream")
        beats = self.inputs[unit.name]
        words = (
            beats.kind.astype(np.int64)
            | beats.stop.astype(np.int64) << k.STOP_SHIFT
            | beats.low.astype(np.int64) << k.LOW_SHIFT
        )
        if beats.data.dtype == np.bool_:
            masks = beats.data.astype(np.int64)
            width = masks.shape[1]
            aux = masks[:, 0]
            if width > 1:
                aux = self.reserve(masks.reshape(-1)) + width * np.arange(len(beats))
            words |= np.where(beats.kind == VALUE, aux, 0) << k.AUX_SHIFT
        return words

    def note(self, unit: str, index: int) -> int:
        """An id under which a step may note that a merge took input `index`, by reason of time."""
        self.notes.append((unit, index))
        return len(self.design.channels) + len(self.notes) - 1

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
            The unit it belongs to, and what it does there.
        step : step function
            Called in every cycle in which the actor may act.
        own : sequence of int
            Its own fields, from `kernel.OWN` on: ports, parameters, state.
        reads, writes : sequence of int
            Addresses of the channels whose events may wake it, as consumer and as producer.
        finishes : bool
            Whether the run lasts until this actor has called `kernel.finish`.
        """
        if step not in self.steps:
            self.steps.append(step)
        head = [0] * k.OWN
        head[k.STEP_INDEX] = self.steps.index(step)
        head[k.STATE] = k.EMPTY_INPUT
        head[k.ACTOR_ID] = len(self.actors)
        address = self.reserve([*head, *own])
        for c in reads:
            self._words[c][k.CONSUMER] = address  # type: ignore[index]
        for c in writes:
            self._words[c][k.PRODUCER] = address  # type: ignore[index]
        self.actors.append(Actor(address, unit, name, tuple(reads), tuple(writes)))
        self._finishers += finishes
        return address

    def step_table(self) -> tuple[k.Step, ...]:
        """The step functions by index, filled up to one length so that the kernel has one type."""
        if len(self.steps) > STEPS:
            raise ValueError(f"the kernel takes {STEPS} step functions, not {len(self.steps)}")
        return (*self.steps, *[self.steps[0]] * (STEPS - len(self.steps)))

    def build(self) -> npt.NDArray[np.int64]:
        """The array, with every actor awake in cycle 0."""
        wheel_size = 1 << (self.horizon + 2).bit_length()
        sizes = [
            wheel_size,
            LOG_WORDS + k.LOG_PER_ACTOR * len(self.actors),
            LOG_WORDS + len(self.actors),
        ]
        wheel, log, trace, end = (self._size + sum(sizes[:n]) for n in range(4))
        M = np.zeros(end, dtype=np.int64)
        for address, words in self._words.items():
            M[address : address + len(words)] = words
        M[k.LOG], M[k.LOG_END] = log, trace
        M[k.TRACE], M[k.TRACE_END] = trace, end
        M[k.ACTORS], M[k.RUNNING] = len(self.actors), self._finishers
        M[k.WHEEL], M[k.WHEEL_MASK] = wheel, wheel_size - 1
        for actor in self.actors:
            M[actor.address + k.NEXT] = M[wheel]
            M[wheel] = actor.address
        M[k.SCHEDULED] = len(self.actors)
        return M
