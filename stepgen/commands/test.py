"""Co-simulation of the Verilog, against reference and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepgen.commands.call import called, notebook
from stepgen.commands.options import TEST, Circuit, Timing
from stepgen.commands.source import Source
from stepgen.cosim import experiment as experiments
from stepgen.cosim.experiment import Experiment
from stepgen.cosim.simulators import Simulator
from stepgen.cosim.verdict import Verdict
from stepgen.cosim.waves import suffix
from stepgen.emit.design_writer import write
from stepgen.hw.design.table import Design
from stepgen.ir.show import html_table
from stepgen.program.design_folder import check_target
from stepgen.program.program import Program
from stepgen.tools import waiting
from stepgen.tools.atomic import atomic_folder


@dataclass(frozen=True, repr=False)
class TestResult:
    """A simulation of the Verilog, or several that go on with the memory of the last one.

    Attributes
    ----------
    design : Design
        The circuit as units and channels.
    verdicts : list of Verdict
        Of each run.
    folder : Path
        With test bench and results.
    waveform : Path or None
    driver, simulator : str
        What it ran on.
    """

    __test__ = False  # for pytest, which would collect it by its name

    design: Design
    verdicts: list[Verdict]
    folder: Path
    waveform: Path | None
    driver: str
    simulator: Simulator

    @property
    def good(self) -> bool:
        """Whether values, cycles, memory and counters are the expected ones."""
        return all(verdict.good for verdict in self.verdicts)

    @property
    def faults(self) -> list[str]:
        """What is not as expected."""
        return [fault for verdict in self.verdicts for fault in verdict.outcome.faults]

    @property
    def cycles(self) -> int:
        """Cycles in the RTL, of all runs."""
        return sum(verdict.outcome.cycles for verdict in self.verdicts)

    @property
    def predicted(self) -> int | None:
        """The same by the cycle model; None where a unit has none."""
        found = [v.prediction.cycles for v in self.verdicts if v.prediction is not None]
        return sum(found) if len(found) == len(self.verdicts) else None

    @property
    def compared(self) -> dict[str, int]:
        """How much of each kind was compared: values, cycles, memory, counters."""
        return self.document()["compared"]  # type: ignore[no-any-return]

    def document(self) -> dict[str, Any]:
        """What ``stepgen test --json`` prints."""
        data = joined([document(v, self.driver, self.simulator) for v in self.verdicts])
        data["folder"] = str(self.folder)
        data["waveform"] = None if self.waveform is None else str(self.waveform)
        return data

    def _repr_html_(self) -> str:
        """What was compared, and what is wrong, for notebooks."""
        rows = [(what, f"{count:,}") for what, count in self.compared.items()]
        faults = html_table("faults", (), [(fault,) for fault in self.faults])
        return notebook(self, "", html_table("compared", (), rows), *([faults] * (not self.good)))

    def __repr__(self) -> str:
        said = "good" if self.good else f"{len(self.faults)} faults"
        beside = "" if self.predicted is None else f", {self.predicted:,} predicted"
        return f"<test of {self.design.name}: {said}, {self.cycles:,} cycles{beside}>"


@called
def test(
    source: Source,
    circuit: Circuit,
    timing: Timing,
    *,
    out: str | Path = TEST,
    driver: str = "cocotb",
    simulator: Simulator = "verilator",
    waveform: bool = False,
    waveform_cycles: int | str | None = None,
    waveform_units: Sequence[str] = (),
    abort: Sequence[int] = (),
) -> TestResult:
    """Simulate the Verilog; compare values, every cycle, memory and counters.

    As ``stepgen test`` does; a mismatch raises nothing, see `TestResult.good`.

    Parameters
    ----------
    program : Graph, Model or Config
    inputs : mapping of str to object, optional
        Contents of input streams and tensors, or what a model takes; missing ones are drawn.
    out : str or Path
        Folder for test bench and results.
    driver : str
        ``"cocotb"``, ``"cpp"`` or ``"judge"``.
    simulator : "verilator" or "icarus"
    waveform : bool
        Whether to write a waveform into the folder.
    waveform_cycles : int or str, optional
        Its first N cycles, or those of ``"A:B"``; by default all.
    waveform_units : sequence of str
        Units that it shows, with the channels that they read and write; by default all.
    abort : sequence of int
        First abort a run in each of these cycles by a soft reset.
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
    StepError
        If the program has no circuit, inputs do not fit, or a tool is missing.
    """
    folder = Path(out)
    check_target(folder)
    loaded = source.load()
    experiment = timing.experiment(loaded, circuit, seed=source.seed)
    with waiting.progress(quiet=True) as progress:
        return tested(
            loaded,
            [[experiment]],
            folder,
            progress=progress,
            driver=driver,
            simulator=simulator,
            waveform=waveform,
            waveform_cycles=waveform_cycles,
            waveform_units=waveform_units,
            aborts=abort,
        )


def tested(
    program: Program,
    groups: Sequence[Sequence[Experiment]],
    folder: Path,
    *,
    progress: waiting.Progress,
    driver: str,
    simulator: Simulator,
    waveform: bool,
    waveform_cycles: int | str | None,
    waveform_units: Sequence[str],
    aborts: Sequence[int],
) -> TestResult:
    """Simulate experiments, those on one design together.

    Parameters
    ----------
    program : Program
        Of the first one.
    groups : sequence of sequence of Experiment
    folder : Path
    progress : Progress
        Called with the current step.
    driver, simulator, waveform, waveform_cycles, waveform_units, aborts
        As for `test`.
    """
    for experiment in (one for group in groups for one in group):
        experiment.aborts = tuple(aborts)
    design = groups[0][0].design
    wave = f"{design.name}{suffix(waveform_units)}" if waveform else None
    verdicts: list[Verdict] = []
    with atomic_folder(folder) as place:
        for group in groups:
            verdicts += experiments.simulate(
                group,
                place if group is groups[0] else place / group[0].design.name,
                driver=driver,
                simulator=simulator,
                waveform=None if wave is None or group is not groups[0] else place / wave,
                waveform_cycles=waveform_cycles,
                waveform_units=waveform_units,
                progress=progress,
            )
        write(folder, program, design, circuit=False)
    there = None if wave is None else folder / wave
    return TestResult(design, verdicts, folder, there, driver, simulator)


def joined(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Results of several runs as those of one, for ``--json``; cycles of each are in ``tokens``."""
    first, *others = documents
    if not others:
        return first
    cycles = [one["cycles"] for one in documents]
    return first | {
        "good": all(one["good"] for one in documents),
        "faults": [fault for one in documents for fault in one["faults"]],
        "cycles": {
            who: None if first["cycles"][who] is None else sum(one[who] for one in cycles)
            for who in ("predicted", "simulated")
        },
        "tokens": cycles,
        "compared": {
            what: sum(one["compared"][what] for one in documents) for what in first["compared"]
        },
        "seconds": round(sum(one["seconds"] for one in documents), 3),
    }


def document(verdict: Verdict, driver: str, simulator: Simulator) -> dict[str, Any]:
    """Results of a co-simulation, for ``--json``."""
    outcome, compared = verdict.outcome, verdict.compared
    if driver == "judge":  # its memory has another timing
        compared = {what: compared[what] for what in ("values", "memory")}
    prediction = verdict.prediction
    return {
        "good": verdict.good,
        "faults": outcome.faults,
        "driver": driver,
        "simulator": simulator,
        "cycles": {
            "predicted": None if prediction is None else prediction.cycles,
            "simulated": outcome.cycles,
        },
        "unpredicted": verdict.unpredicted or None,
        "compared": compared,
        "build_seconds": round(verdict.build_seconds, 2),
        "seconds": round(outcome.seconds, 3),
    }
