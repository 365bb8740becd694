"""Running the cases of a run folder under cocotb."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from stepgen.cosim import cocotb_parts
from stepgen.cosim.case import UNKNOWN, cases_in
from stepgen.cosim.scoreboard import Outcome, read_outcome
from stepgen.emit.interface import Interface
from stepgen.ir.errors import StepError
from stepgen.tools import children
from stepgen.tools.waiting import Progress, quiet

_TESTS = "stepgen.cosim.cocotb_cases"


class Simulation(Protocol):
    """What a simulator has built."""

    @property
    def interface(self) -> Interface:
        """Of the simulated design."""

    @property
    def trace(self) -> bool:
        """Whether it can write waveforms."""

    def command(self, *, vcd: Path | None, seed: int) -> list[str]:
        """How it is started with cocotb inside."""


def run_cocotb(
    simulation: Simulation,
    folder: Path,
    *,
    vcd: Path | None = None,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Outcome]:
    """Run all cases of a run folder under cocotb and check them.

    Parameters
    ----------
    simulation : Simulation
    folder : Path
        The run folder, as `stepgen.cosim.case.write_cases` wrote it. The log is written to its
        ``cocotb.log``, cocotb's own results to ``results.xml``.
    vcd : Path or None
        Where to write the waveform; needs a simulation with `trace`.
    seed : int
        As for `run_driver`.
    progress : Progress
        Called after every case.

    Returns
    -------
    list of Outcome
        One per case.

    Raises
    ------
    StepError
        Where the simulation did not start, or a case did not finish.
    """
    if vcd is not None and not simulation.trace:
        raise StepError("a waveform needs a simulation that was built with trace=True")
    folder = folder.resolve()
    numbers = cases_in(folder)
    for number in numbers:
        (folder / str(number) / "result.json").unlink(missing_ok=True)
        (folder / str(number) / UNKNOWN).unlink(missing_ok=True)
    command = [*simulation.command(vcd=vcd, seed=seed), f"+folder={folder}"]
    log = folder / "cocotb.log"
    done = 0
    with (
        log.open("w", encoding="utf-8") as out,
        children.started(
            command,
            cwd=folder,
            env=_environment(folder, seed),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            out.write(line)
            if line.startswith("stepgen: case"):
                done += 1
                progress(f"simulating ({done}/{len(numbers)})", done / len(numbers))
    if not any((folder / str(n) / "result.json").exists() for n in numbers):
        raise StepError(
            f"cocotb did not finish any case of {simulation.interface.name} "
            f"(exit code {process.returncode}): {_last_error(log)}"
        )
    return [_outcome(folder / str(n), simulation.interface, log) for n in numbers]


def _outcome(folder: Path, interface: Interface, log: Path) -> Outcome:
    if (folder / "result.json").exists():
        return read_outcome(folder, interface)
    raise StepError(
        f"case {folder.name} of {interface.name} did not finish under cocotb: {_last_error(log)}"
    )


def _last_error(log: Path) -> str:
    """The last line of the log about an error, without colours."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if re.search(r"[Ee]rror|ERROR|cannot", line)]
    return said[-1] if said else lines[-1] if lines else "no message"


def _environment(folder: Path, seed: int) -> dict[str, str]:
    """Environment for cocotb inside the simulation, as its own runner sets it."""
    variables = cocotb_parts.environment(_TESTS, "stepgen_bench", folder / "results.xml", seed)
    return variables | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "PYTHONWARNINGS": "ignore::DeprecationWarning",
        "STEPGEN_RUN": str(folder),
    }
