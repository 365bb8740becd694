"""(f4) All figures of the paper at full size."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from time import perf_counter

from benchmarks.apart import MEGABYTE
from benchmarks.table import Table

JOBS = (2,)
COMMAND = "from stepgen.cli import main; main()"


def measure() -> Table:
    """``stepgen figure all`` with an empty cache, then with the one that it filled."""
    lines = []
    for jobs in JOBS:
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("empty", "full"):
                start = perf_counter()
                subprocess.run(
                    [
                        *(sys.executable, "-c", COMMAND, "figure", "all", "--json"),
                        *("-j", str(jobs), "--out", f"{folder}/figures"),
                    ],
                    env={**os.environ, "STEPGEN_CACHE": f"{folder}/cache"},
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                lines.append((jobs, cache, f"{perf_counter() - start:.0f}"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / MEGABYTE
    return Table(
        "f4. All figures",
        "`stepgen figure all`: every figure of the evaluation and the studies besides, in both "
        f"views; no process held more than {peak:,.0f} MB. The published simulator took 24.5 hours "
        "on 8 cores of another machine for the figures alone.",
        ("processes", "cache", "seconds"),
        lines,
    )
