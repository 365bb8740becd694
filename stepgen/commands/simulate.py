"""Timing simulation of a program on a described machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stepgen.commands.call import called, notebook
from stepgen.commands.infeasible import judged
from stepgen.commands.options import MACHINE, Limit
from stepgen.commands.source import Source
from stepgen.draw.layout import lay_out
from stepgen.draw.picture import shaded
from stepgen.draw.svg import svg
from stepgen.ir.picture import picture
from stepgen.ir.show import html_table
from stepgen.program import tiles
from stepgen.program.program import Program
from stepgen.report import simulated as reports
from stepgen.timing.tiles import known, variants
from stepgen.timing.tiles.depths import Depth
from stepgen.timing.tiles.machines import Machine
from stepgen.timing.tiles.report import Operator, Run
from stepgen.tools import waiting


@dataclass(frozen=True, repr=False)
class SimulateResult:
    """A run on a described machine.

    Attributes
    ----------
    program : Program
        What ran.
    run : Run
        All of its timing.
    """

    program: Program
    run: Run

    @property
    def machine(self) -> Machine:
        """What it ran on."""
        return self.run.machine

    @property
    def cycles(self) -> int:
        """Cycles of the run."""
        return self.run.cycles

    @property
    def activity(self) -> dict[str, Operator]:
        """By operator, the cycles in which it was busy, starved or full, and what it moved."""
        return self.run.operators

    @property
    def bits(self) -> int:
        """Most bits of tiles that were on chip at one time."""
        return 8 * self.run.memory_peak

    @property
    def traffic(self) -> int:
        """Off-chip bytes."""
        return self.run.traffic

    @property
    def choices(self) -> dict[str, list[int]]:
        """By merge in order of arrival, the input that each chunk came from."""
        return self.run.choices

    def document(self) -> dict[str, Any]:
        """What ``stepgen simulate --json`` prints."""
        return reports.document(self.program, self.run)

    def _repr_html_(self) -> str:
        """The program, each operator the greener the more it is busy, for notebooks."""
        busy = {name: one.busy / max(1, self.cycles) for name, one in self.activity.items()}
        drawn = svg(lay_out(shaded(picture(self.program.graph), busy)))
        rows = [
            (name, *(f"{n:,}" for n in (one.busy, one.starved, one.full, one.traffic)))
            for name, one in self.activity.items()
        ]
        head = ("operator", "busy", "starved", "full", "off-chip bytes")
        return notebook(self, drawn, html_table("cycles of each operator", head, rows))

    def __repr__(self) -> str:
        return (
            f"<simulation of {self.program.graph.name} on {self.machine.name}: {self.cycles:,} "
            f"cycles, {self.traffic:,} bytes moved, {self.bits:,} bits on chip at most>"
        )


@dataclass(frozen=True, kw_only=True)
class On:
    """A machine.

    Attributes
    ----------
    machine : str or Machine
        One that ``stepgen machine`` lists, a file that describes one, or one that was made.
    change : mapping of str to object
        Fields that differ, such as ``{"memory.channels": 16}``.
    depth : mapping of str to int or "unbounded"
        Elements that the FIFO of a stream holds.
    """

    machine: str | Machine = MACHINE
    change: Mapping[str, object] = field(default_factory=dict)
    depth: Mapping[str, Any] = field(default_factory=dict)

    def find(self) -> Machine:
        """The machine with its changes, which its name includes."""
        machine = self.machine
        if isinstance(machine, str):
            machine = variants.find(machine)
        texts = {name: str(value) for name, value in self.change.items()}
        machine = variants.changed(machine, variants.parsed(texts))
        if not texts:
            return machine
        settings = ", ".join(f"{name}={text}" for name, text in texts.items())
        return dataclasses.replace(machine, name=f"{machine.name} with {settings}")


@called
def simulate(source: Source, on: On, limit: Limit) -> SimulateResult:
    """Simulate timing and resource use on a described machine, as ``stepgen simulate`` does.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    machine, change, depth
        See `stepgen.commands.simulate.On`.
    max_cycles : int, optional
        Abort a run that takes more cycles.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    Deadlock
        If the run can't end.
    StepError
        If the machine has no such field, or inputs do not fit.
    """
    with waiting.progress(quiet=True) as progress, judged(source):
        loaded = loaded_for(source)
        return simulated(loaded, on.find(), on.depth, limit.cycles, progress)


def loaded_for(source: Source) -> Program:
    """The program, with the contents of tensors where they decide its timing."""
    loaded = source.load(tensors=False)
    return source.load() if known.decided(loaded.graph) else loaded


def simulated(
    program: Program,
    machine: Machine,
    depths: Mapping[str, Depth],
    limit: int,
    progress: waiting.Progress,
) -> SimulateResult:
    """The run of a program from `loaded_for`.

    Parameters
    ----------
    program : Program
    machine : Machine
    depths : mapping of str to int or "unbounded"
    limit : int
        Cycles that it may take.
    progress : Progress
        Called with the current step.
    """
    progress("simulating", 0.3)
    asked = (program.graph, program.inputs, machine)
    if known.decided(program.graph):
        run, _ = tiles.simulate_with_data(*asked, depths=depths, limit=limit)
    else:
        run = tiles.simulate(*asked, depths=depths, limit=limit)
    return SimulateResult(program, run)
