"""The cycle model: predicts the cycle of every beat, and the states of all units."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepgen.hw.design.counting import counted
from stepgen.hw.design.registers import COUNTERS, detail_of
from stepgen.hw.design.table import Design
from stepgen.ir.errors import StepError
from stepgen.ir.memory_timing import MemoryTiming
from stepgen.ir.sdram_timing import SdramTiming
from stepgen.ir.stalls import Stalls
from stepgen.ir.wire import Beats
from stepgen.timing import kernel as k
from stepgen.timing import own_steps
from stepgen.timing.activity import Activity, Cycles, Trace
from stepgen.timing.deadlock import advised, explain
from stepgen.timing.design_layout import DesignLayout, Run
from stepgen.timing.drive import MAX_CYCLES, Driven, drive
from stepgen.timing.sorting import split


@dataclass(frozen=True)
class Totals:
    """What one run of a design comes to.

    Attributes
    ----------
    cycles : int
        Cycles of the run, as the design's own counter shows them afterwards.
    beats : int64 array
        By channel, in the order of the design, the beats that have entered its FIFO.
    """

    design: Design
    cycles: int
    beats: Cycles

    def moved(self, channel: str) -> int:
        """Beats that enter the FIFO of a channel."""
        number = next(n for n, c in enumerate(self.design.channels) if c.name == channel)
        return int(self.beats[number])


@dataclass(frozen=True)
class Prediction(Totals):
    """Result of the cycle model for one run.

    What is not asked for is not taken from the logs of the run.

    Attributes
    ----------
    log : int64 array
        Moves of beats and choices of merges, as the kernel notes them.
    merges : sequence of (str, int)
        The unit and the input of each choice.
    trace : Trace
        States of all actors.
    """

    log: Cycles
    merges: Sequence[tuple[str, int]]
    trace: Trace

    @cached_property
    def _moves(self) -> list[Cycles]:
        """Pushes and pops of each channel, then when merges took each input."""
        return split(self.log, 2 * (len(self.design.channels) + len(self.merges)))

    @cached_property
    def pushes(self) -> dict[str, Cycles]:
        """By channel, the cycle in which each beat enters its FIFO."""
        return {c.name: self._moves[2 * n] for n, c in enumerate(self.design.channels)}

    @cached_property
    def pops(self) -> dict[str, Cycles]:
        """By channel, the cycle in which each beat leaves its FIFO."""
        return {c.name: self._moves[2 * n + 1] for n, c in enumerate(self.design.channels)}

    @cached_property
    def choices(self) -> dict[str, list[int]]:
        """By merge whose order depends on time, the input that each chunk came from."""
        found: dict[str, list[tuple[int, int]]] = {}
        taken = self._moves[2 * len(self.design.channels) :: 2]
        for (unit, index), cycles in zip(self.merges, taken, strict=True):
            found.setdefault(unit, []).extend((int(t), index) for t in cycles)
        return {unit: [index for _, index in sorted(chosen)] for unit, chosen in found.items()}

    @cached_property
    def activities(self) -> tuple[Activity, ...]:
        """States of each actor, in the order of the design table."""
        return tuple(self.trace.activities())

    def counters(self, channel: str) -> dict[str, int]:
        """Contents of the design's counters of one channel after the run.

        Returns
        -------
        dict
            ``busy`` (beats that left), ``starved`` (cycles without a beat at the head) and
            ``full`` (cycles without a free slot).
        """
        c = self.design.channel[channel]
        pushed, popped = self.pushes[channel], self.pops[channel]
        seen = pushed + c.latency
        head_from = np.maximum(seen[: len(popped)], np.append(0, popped[:-1] + 1)[: len(popped)])
        waiting = int(np.sum(popped - head_from + 1))
        if len(seen) > len(popped):
            last = popped[-1] + 1 if len(popped) else 0
            waiting += max(0, self.cycles - max(int(seen[len(popped)]), int(last)))
        moments = np.minimum(np.append(pushed, popped) + 1, self.cycles)
        order = np.argsort(moments)
        level = np.cumsum(np.repeat([1, -1], [len(pushed), len(popped)])[order])
        lasts = np.diff(moments[order], append=self.cycles)
        return {
            "busy": len(popped),
            "starved": self.cycles - waiting,
            "full": int(np.sum(lasts[level == c.depth])),
        }

    @property
    def registers(self) -> Cycles:
        """The registers of all counters, by channel and `COUNTERS`; 0 of channels not counted."""
        found = np.zeros((len(self.design.channels), len(COUNTERS)), np.int64)
        for number in counted(self.design):
            counts = self.counters(self.design.channels[number].name)
            found[number] = [counts[counter.name] for counter in COUNTERS]
        return found


class Fault(StepError):
    """A unit met what its program excludes: the run stops, as the circuit does with an error.

    Attributes
    ----------
    cycle : int
        In which it met it.
    code, detail : int
        What the registers ``error_code`` and ``detail`` show once nothing moves any more.
    stopped : Prediction
        Of the run until then; its cycles are those after which nothing moves.
    """

    def __init__(
        self, message: str, cycle: int, *, code: int, detail: int, stopped: Prediction
    ) -> None:
        super().__init__(message)
        self.cycle = cycle
        self.code, self.detail = code, detail
        self.stopped = stopped


class CycleModel:
    """The cycle model of a design, which is laid out once for all its runs.

    Parameters
    ----------
    design : Design
        The elaborated design.
    """

    def __init__(self, design: Design) -> None:
        self.design = design

    @cached_property
    def _layout(self) -> DesignLayout:
        return DesignLayout(self.design)

    @cached_property
    def _unlogged(self) -> DesignLayout:
        return DesignLayout(self.design, logged="nothing")

    def predict(self, run: Run, *, limit: int = MAX_CYCLES) -> Prediction:
        """Predict a run; see `predict`."""

        def with_depths(depths: Mapping[str, int]) -> Prediction:
            layout = DesignLayout(self.design.with_depths(depths)) if depths else self._layout
            return _run(layout.of_run(run), limit)

        return advised(with_depths, lambda: {c.name: c.depth for c in self.design.channels})

    def totals(self, run: Run, *, limit: int = MAX_CYCLES) -> Totals:
        """Predict what a run comes to, in less time than it takes to `predict` all."""
        layout = self._unlogged.of_run(run)
        if not own_steps.of(layout):
            ran = drive(layout, limit=limit)
            if not ran.stuck and not ran.M[k.FAULT]:
                return Totals(self.design, ran.cycles, layout.entered(ran.M))
        # Users' steps are checked, and errors explained, by what is logged.
        return self.predict(run, limit=limit)

    def order_of_arrival(self, run: Run, *, limit: int = MAX_CYCLES) -> dict[str, list[int]]:
        """By merge whose order depends on time, the input that each chunk comes from.

        As far as the run comes: it may stop with an error, or never end.
        """
        layout = self._layout.of_run(run)
        return _prediction(layout, drive(layout, limit=limit)).choices


def predict(
    design: Design,
    inputs: Mapping[str, Beats],
    *,
    memory: MemoryTiming | SdramTiming | None = None,
    stalls: Stalls | None = None,
    early: Collection[str] = (),
    limit: int = MAX_CYCLES,
) -> Prediction:
    """Run the cycle model.

    Parameters
    ----------
    design : Design
        The elaborated design.
    inputs : mapping of str to Beats
        Input streams by port; beats after the first ``DONE`` belong to the next run. By name of
        their units also the selectors that these make of data.
    memory : MemoryTiming or SdramTiming, optional
        Timing of the off-chip memory.
    stalls : Stalls, optional
        Stalls of ports and memory; by default none.
    early : collection of str
        Stream ports whose first beat is offered before the run starts.
    limit : int
        Most cycles of the run.

    Returns
    -------
    Prediction

    Raises
    ------
    Deadlock
        If the run can never end; names the cycle of channels that wait for each other.
    Fault
        If a unit meets what its program excludes; names it, and what it met.
    StepError
        If an input is missing, or the run takes more than `limit` cycles.
    """
    run = Run(inputs, stalls or Stalls(), memory or MemoryTiming(), early)
    return CycleModel(design).predict(run, limit=limit)


def _run(layout: DesignLayout, limit: int) -> Prediction:
    """One run of a layout.

    Raises
    ------
    Deadlock, Fault, StepError
    """
    ran = drive(layout, limit=limit)
    prediction = _prediction(layout, ran)
    own_steps.check(layout, ran.M, prediction)
    if ran.M[k.FAULT]:
        raise _fault(layout, ran, prediction)
    if ran.stuck:
        deadlock = explain(layout, ran.M, ran.cycles)
        deadlock.stopped = prediction
        raise deadlock
    return prediction


def _fault(layout: DesignLayout, ran: Driven, stopped: Prediction) -> Fault:
    """The error of a run in which a unit met what its program excludes: the first one, by time."""
    actor, order = int(ran.M[k.FAULT]), [unit.name for unit in layout.design.units]
    found = {}
    for a, entry in layout.faults.items():
        if ran.M[a + k.FAULTED]:
            number = int(ran.M[a + k.DETAIL]) if entry.cause else 0
            found[order.index(entry.unit)] = detail_of(entry.cause, number)
    cycle = int(ran.M[actor + k.FAULTED]) - 1
    said = layout.faults[actor].say(int(ran.M[actor + k.DETAIL]))
    return Fault(
        f"{layout.title} stops in cycle {cycle}: {said}",
        cycle,
        code=1 + min(found),
        detail=found[min(found)],
        stopped=stopped,
    )


def _prediction(layout: DesignLayout, ran: Driven) -> Prediction:
    """What a run has given."""
    trace = Trace.of(layout, ran.M, ran.trace, ran.cycles)
    entered, merges = layout.entered(ran.M), tuple(layout.notes)
    return Prediction(layout.design, ran.cycles, entered, ran.notes, merges, trace)
