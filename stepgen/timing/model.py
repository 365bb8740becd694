"""The prediction: in which cycle every beat moves, and why a unit waits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from ..hw.design.table import Design
from ..ir.memory_timing import MemoryTiming
from ..ir.stalls import Stalls
from ..ir.wire import Beats
from .activity import Activity, Cycles, Trace, split
from .deadlock import advised, explain
from .drive import MAX_CYCLES, drive
from .laid_out import LaidOut


@dataclass(frozen=True)
class Prediction:
    """What the cycle model says of one run.

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
        """What the design's counters of one channel show after the run.

        Returns
        -------
        dict
            ``busy`` (beats that left), ``starved`` (cycles without a beat at the head) and
            ``full`` (cycles without room).
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


def predict(
    design: Design,
    inputs: Mapping[str, Beats],
    *,
    memory: MemoryTiming | None = None,
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
        What enters through each stream port; what follows its first ``DONE`` waits for another run.
    memory : MemoryTiming, optional
        When the off-chip memory answers.
    stalls : Stalls, optional
        When ports and memory hold back; free-running where not given.
    early : collection of str
        Stream ports whose first beat is offered before the run starts.
    limit : int
        Cycles that the run may take.

    Returns
    -------
    Prediction

    Raises
    ------
    Deadlock
        With the cycle of waiting channels, where the run can never end.
    StepError
        Where an input is missing, or the run takes more than `limit` cycles.
    """

    def run(depths: Mapping[str, int]) -> Prediction:
        changed = design.with_depths(depths)
        world = stalls or Stalls(), memory or MemoryTiming(), early
        return _run(LaidOut(changed, inputs, *world), limit)

    return advised(run, lambda: {c.name: c.depth for c in design.channels})


def _run(machine: LaidOut, limit: int) -> Prediction:
    """One run of a machine.

    Raises
    ------
    Deadlock, StepError
    """
    design = machine.design
    ran = drive(machine, limit=limit)
    if ran.stuck:
        raise explain(machine, ran.M, ran.cycles)
    moves = split(ran.notes, 2 * (len(design.channels) + len(machine.notes)))
    names = [c.name for c in design.channels]
    return Prediction(
        design,
        ran.cycles,
        pushes=dict(zip(names, moves[0::2], strict=False)),
        pops=dict(zip(names, moves[1::2], strict=False)),
        activities=tuple(Trace.of(machine, ran.M, ran.trace, ran.cycles).activities()),
        choices=_choices(machine, moves[0::2]),
    )


def _choices(machine: LaidOut, moves: list[Cycles]) -> dict[str, list[int]]:
    """The inputs that each merge took, in order of time."""
    notes: dict[str, list[tuple[int, int]]] = {}
    for (unit, index), cycles in zip(
        machine.notes, moves[len(machine.design.channels) :], strict=True
    ):
        notes.setdefault(unit, []).extend((int(t), index) for t in cycles)
    return {unit: [index for _, index in sorted(taken)] for unit, taken in notes.items()}
