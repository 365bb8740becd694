"""The cycle model's prediction of a run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

from stepgen.commands.call import called, notebook
from stepgen.commands.infeasible import judge_words, judged
from stepgen.commands.options import Circuit, Timing
from stepgen.commands.source import Source
from stepgen.compile.cost import on_chip_bits
from stepgen.cosim.experiment import Experiment
from stepgen.hw.design.table import Design
from stepgen.hw.picture import design_svg
from stepgen.ir.show import html_table
from stepgen.program.program import Program
from stepgen.report.summary import symbolic_traffic
from stepgen.report.timeline import main_activities
from stepgen.timing.activity import Activity
from stepgen.timing.deadlock import Deadlock
from stepgen.timing.model import Prediction
from stepgen.tools import waiting


@dataclass(frozen=True, repr=False)
class TimeResult:
    """A predicted run.

    Attributes
    ----------
    program : Program
        What ran.
    experiment : Experiment
        The same as a circuit on a memory.
    symbolic : int or None
        Off-chip bytes by formula; None where it has no value.
    deadlock : Deadlock or None
        With which the run stopped.
    """

    program: Program
    experiment: Experiment
    symbolic: int | None = None
    deadlock: Deadlock | None = None

    @functools.cached_property
    def prediction(self) -> Prediction:
        """All of the cycle model's run, with the cycle of each beat on each channel."""
        if self.deadlock is not None and self.deadlock.stopped is not None:
            stopped = self.deadlock.stopped
            return stopped
        return self.experiment.prediction

    @property
    def design(self) -> Design:
        """The circuit as units and channels."""
        return self.experiment.design

    @property
    def cycles(self) -> int:
        """Cycles of the run, with a deadlock those until it."""
        return self.prediction.cycles

    @property
    def streams(self) -> dict[str, int]:
        """Beats that went through each channel."""
        return {name: len(cycles) for name, cycles in self.prediction.pops.items()}

    @property
    def activity(self) -> list[Activity]:
        """In how many cycles each unit was busy, starved or full, without forks."""
        return main_activities(self.prediction)

    @property
    def bits(self) -> int:
        """On-chip bits of the design."""
        return on_chip_bits(self.design)

    @property
    def traffic(self) -> tuple[int, int]:
        """Off-chip bytes that are read and written, in words of the bus."""
        return self.experiment.traffic

    @property
    def choices(self) -> dict[str, list[int]]:
        """By merge in order of arrival, the input that each chunk came from."""
        return self.prediction.choices

    def _repr_html_(self) -> str:
        """The circuit, each unit the greener the more it is busy, and a table, for notebooks."""
        busy: dict[str, float] = {}
        for one in self.prediction.activities:
            share = one.busy / max(1, self.cycles)
            busy[one.unit] = max(share, busy.get(one.unit, 0.0))
        waiting = () if self.deadlock is None else {w.channel for w in self.deadlock.waiting}
        drawn = design_svg(self.design, self.program.graph, busy=busy, marked=waiting)
        rows = [
            (one.unit, *(f"{cycles:,}" for cycles in (one.busy, one.starved, one.full)))
            for one in self.activity
        ]
        table = html_table("cycles of each unit", ("unit", "busy", "starved", "full"), rows)
        return notebook(self, drawn, table)

    def __repr__(self) -> str:
        name = self.design.name
        if self.deadlock is not None:
            return f"<time of {name}: deadlock in cycle {self.deadlock.cycle:,}>"
        read, written = self.traffic
        return (
            f"<time of {name}: {self.cycles:,} cycles, {read:,} bytes read, {written:,} written, "
            f"{self.bits:,} bits on chip>"
        )


@called
def time(source: Source, circuit: Circuit, timing: Timing) -> TimeResult:
    """Predict the cycles of a run, as ``stepgen time`` does.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    lanes, bus_bits, depth, ...
        See `stepgen.commands.options.Circuit`.
    latency, interval, stall, ...
        See `stepgen.commands.options.Timing`.
    seed, dim, transform
        See `stepgen.commands.source.Drawing`.
    phase, element, cache, ...
        Of a model, see `stepgen.program.models.parameters`.

    Raises
    ------
    Deadlock
        If the run can't end; its ``result`` is a `TimeResult` of the run until then.
    StepError
        If the program has no circuit, or inputs do not fit.
    """
    with waiting.progress(quiet=True) as progress:
        return timed(source, source.load(tensors=False), circuit, timing, progress)


def timed(
    source: Source,
    loaded: Program,
    circuit: Circuit,
    timing: Timing,
    progress: waiting.Progress,
) -> TimeResult:
    """The prediction of a program that was loaded without the contents of tensors.

    Parameters
    ----------
    source : Source
        Of the program; loads the contents where they decide cycles.
    loaded : Program
    circuit, timing
        As for `time`.
    progress : Progress
        Called with the current step.
    """
    with_data: Callable[[], Program] = functools.cache(source.load)
    experiment = timing.experiment(loaded, circuit, seed=source.seed)
    if experiment.numbers_decide:
        loaded, built = with_data(), experiment.design
        experiment = dataclasses.replace(experiment, inputs=loaded.inputs, built=built)
    progress("predicting", 0.0)
    try:
        with judged(source):
            _ = experiment.prediction
            symbolic = symbolic_traffic(loaded, experiment, with_data)
            judge_words(source, experiment, symbolic)
    except Deadlock as error:
        error.result = TimeResult(loaded, experiment, deadlock=error)
        raise
    return TimeResult(loaded, experiment, symbolic)
