"""``stepgen time --scenarios``: many runs of one circuit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stepgen.cli.config import show_json
from stepgen.cli.options import HardwareOptions, ProgramOptions, RunOptions, WorkerOptions

if TYPE_CHECKING:
    from stepgen.commands.scenarios import ScenariosResult

WIDTH = 40
"""Characters of the longest bar."""


def many(
    program: ProgramOptions,
    hardware: HardwareOptions,
    when: RunOptions,
    who: WorkerOptions,
    scenarios: Path,
    out: Path | None,
    *,
    json: bool,
) -> int:
    """Predict all runs, and show how their cycles spread; 1 if a run stops."""
    import numpy as np

    from stepgen.commands.scenarios import read, timed
    from stepgen.report import console
    from stepgen.tools import waiting
    from stepgen.tools.atomic import atomic_file

    given, workers = read(scenarios), who.workers()
    with waiting.progress(quiet=json) as progress:
        result = timed(program.named(), hardware.circuit(), when.timing(), given, workers, progress)
    if out is not None:
        with atomic_file(out) as place, open(place, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **result.arrays())
    if json:
        data = {name: array.tolist() for name, array in result.arrays().items()}
        stopped = {str(run): why for run, why in result.stopped.items()}
        some = {"quartiles": result.quartiles(), "stopped": stopped, "files": {"out": out}}
        show_json({"program": result.program.name, **data, **some})
    else:
        _show(result)
        if out is not None:
            console.show(f"written to {out}")
    return 1 if result.stopped else 0


def _show(result: ScenariosResult) -> None:
    """Print percentiles, a histogram, and the first run that stops."""
    from stepgen.report import console

    runs = len(result.cycles)
    heads = ("cycles", "bytes read", "written")
    if result.ended.size:
        title = f"{result.ended.size:,} of {runs:,} runs of {result.design.name} end"
        console.show(console.table(title, "", "run", *heads, rows=result.rows()))
        bins = result.bins()
        most = max(count for *_, count in bins)
        rows = [
            (f"{low:,}", f"{high:,}", f"{count:,}", _bar(count / most)) for low, high, count in bins
        ]
        console.show(console.table("Cycles", "from", "to", "runs", "", rows=rows, left=0))
    for run, why in list(result.stopped.items())[:1]:
        others = len(result.stopped) - 1
        more = f", as do {others:,} others" if others else ""
        console.show(f"run {run} stops{more}: {why}")


def _bar(share: float) -> str:
    full = round(WIDTH * share)
    return "█" * full + "░" * (WIDTH - full)
