"""(i) Programs that the fuzzer compares in an hour of one processor."""

from __future__ import annotations

import os
import resource
import tempfile
from unittest import mock

from benchmarks.table import Table
from stepgen.fuzz.campaign import RUNS, SAMPLE
from stepgen.fuzz.compare import compare_all
from stepgen.fuzz.draw import cases

SEED = 9
COUNTS = {True: 16, False: 100}
"""Programs that are measured, with and without RTL."""


def seconds(who: int) -> float:
    """Processor time of this process or of its children."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measure() -> Table:
    """Draw and compare, with RTL several runs on each design; no build is there from before."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, STEPGEN_CACHE=folder),
    ):
        return _measured()


def _measured() -> Table:
    rows = []
    for rtl, count in COUNTS.items():
        compare_all(cases(SEED + 1, 0)[0], rtl=rtl)  # the first call compiles
        before = [seconds(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        runs = failed = 0
        for number in range(count):
            drawn = cases(SEED, number, runs=RUNS[rtl])[0]
            verdicts = compare_all(drawn, rtl=rtl, levels=rtl or number % SAMPLE == 0)
            runs += len(verdicts)
            failed += any(v.status == "failed" for v in verdicts)
        own = seconds(resource.RUSAGE_SELF) - before[0]
        tools = seconds(resource.RUSAGE_CHILDREN) - before[1]
        hours = (own + tools) / 3600
        rows.append(
            (
                "with RTL" if rtl else "without",
                count,
                runs,
                failed,
                f"{own / count:.2f}",
                f"{tools / count:.2f}",
                f"{count / hours:,.0f}",
                f"{runs / hours:,.0f}",
            )
        )
    return Table(
        "i. Programs of the fuzzer",
        "Processor time from drawing to verdict, everything compiled anew. Tools are Yosys, "
        "Verilator, the C++ compiler and the simulation. A program has a design of its own, on "
        "which it runs several times.",
        (
            "faces",
            "programs",
            "runs",
            "differ",
            "s per program",
            "in tools",
            "programs per hour",
            "runs per hour",
        ),
        rows,
    )
