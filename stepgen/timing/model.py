"""The cycle model: predicts the cycle of every beat, and the states of all units."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..hw.design.counting import counted
from ..hw.design.registers import COUNTERS, detail_of
from ..hw.design.table import Design
from ..ir.errors import StepError
from ..ir.memory_timing import MemoryTiming
from ..ir.sdram_timing import SdramTiming
from ..ir.stalls import Stalls
from ..ir.wire import Beats
from . import kernel as k
from .activity import Activity, Cycles, Trace, split
from .deadlock import advised, explain
from .design_layout import DesignLayout
from .drive import MAX_CYCLES, Driven, drive


@dataclass(frozen=True)
class Prediction:
    """Result of the cycle model for one run.

    Attributes
    ----------
    cycles : int
        Cycles of the run, as the design's own counter shows them afterwards.
    pushes, pops : dict of str to int64 array
        By channel, the cycle in which each beat enters and leaves its FIFO.
    activities : tuple of Activity
        In the order of the design table.
    choices : dict of str to list of int
        By merge whose order depends on time, the input that each chunk came from.
    """

    design: Design
    cycles: int
    pushes: dict[str, Cycles]
    pops: dict[str, Cycles]
    activities: tuple[Activity, ...]
    choices: dict[str, list[int]]

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

    def run(depths: Mapping[str, int]) -> Prediction:
        changed = design.with_depths(depths)
        return _run(_layout(changed, inputs, memory=memory, stalls=stalls, early=early), limit)

    return advised(run, lambda: {c.name: c.depth for c in design.channels})


def order_of_arrival(
    design: Design, inputs: Mapping[str, Beats], *, limit: int = MAX_CYCLES, **environment: Any
) -> dict[str, list[int]]:
    """By merge whose order depends on time, the input that each chunk comes from.

    As far as the run comes: it may stop with an error, or never end.

    Parameters
    ----------
    design, inputs, limit
        As for `predict`.
    **environment
        ``memory``, ``stalls`` and ``early`` of `predict`.
    """
    layout = _layout(design, inputs, **environment)
    return _choices(layout, _moves(layout, drive(layout, limit=limit)))


def _layout(
    design: Design,
    inputs: Mapping[str, Beats],
    *,
    memory: MemoryTiming | SdramTiming | None = None,
    stalls: Stalls | None = None,
    early: Collection[str] = (),
) -> DesignLayout:
    return DesignLayout(design, inputs, stalls or Stalls(), memory or MemoryTiming(), early)


def _moves(layout: DesignLayout, ran: Driven) -> list[Cycles]:
    """Pushes and pops of each channel, then what merges took."""
    return split(ran.notes, 2 * (len(layout.design.channels) + len(layout.notes)))


def _run(layout: DesignLayout, limit: int) -> Prediction:
    """One run of a layout.

    Raises
    ------
    Deadlock, Fault, StepError
    """
    ran = drive(layout, limit=limit)
    if ran.M[k.FAULT]:
        raise _fault(layout, ran)
    if ran.stuck:
        deadlock = explain(layout, ran.M, ran.cycles)
        deadlock.stopped = partial(_prediction, layout, ran)
        raise deadlock
    return _prediction(layout, ran)


def _fault(layout: DesignLayout, ran: Driven) -> Fault:
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
        stopped=_prediction(layout, ran),
    )


def _prediction(layout: DesignLayout, ran: Driven) -> Prediction:
    """What a run has given."""
    design = layout.design
    moves = _moves(layout, ran)
    names = [c.name for c in design.channels]
    return Prediction(
        design,
        ran.cycles,
        pushes=dict(zip(names, moves[0::2], strict=False)),
        pops=dict(zip(names, moves[1::2], strict=False)),
        activities=tuple(Trace.of(layout, ran.M, ran.trace, ran.cycles).activities()),
        choices=_choices(layout, moves),
    )


def _choices(layout: DesignLayout, moves: list[Cycles]) -> dict[str, list[int]]:
    """The inputs that each merge took, in order of time."""
    notes: dict[str, list[tuple[int, int]]] = {}
    taken_by = moves[0::2][len(layout.design.channels) :]
    for (unit, index), cycles in zip(layout.notes, taken_by, strict=True):
        notes.setdefault(unit, []).extend((int(t), index) for t in cycles)
    return {unit: [index for _, index in sorted(taken)] for unit, taken in notes.items()}
