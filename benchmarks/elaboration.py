"""(a) Seconds from a graph to Verilog, over the number of experts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import process_time

from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.emit.elaborate import verilog
from stepgen.hw import private

EXPERTS = (2, 8, 32, 128)


def measure() -> Table:
    """Build, lower and write the MoE layer with dynamic tiles, under two names."""
    rows = []
    with _empty_cache():
        private.yosys().run(["-q", "-"], "")  # compiles Yosys
        for experts in EXPERTS:
            seconds = []
            for name in ("first", "second"):
                start = process_time()
                design = replace(lower(moe(experts=experts)[0]), name=name)
                text = verilog(design)
                seconds.append(process_time() - start)
            rows.append(
                (
                    experts,
                    len(design.units),
                    len(design.channels),
                    f"{len(text) / 1e6:.1f}",
                    *(f"{each:.1f}" for each in seconds),
                    f"{seconds[-1] / experts:.3f}",
                )
            )
    return Table(
        "a. Graph to Verilog",
        "MoE layer, dynamic tiles; seconds of the processor. At first the units that the designs "
        "above lack are elaborated; then the same design is written under another name, with all "
        "units in the cache. Linear growth shows as a constant last column.",
        (
            *("experts", "units", "channels", "Verilog MB", "first s", "units known s"),
            "of that s per expert",
        ),
        rows,
    )


@contextmanager
def _empty_cache() -> Iterator[None]:
    """Modules and Verilog of earlier designs are not there."""
    before = os.environ.get("STEPGEN_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STEPGEN_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["STEPGEN_CACHE"]
            if before is not None:
                os.environ["STEPGEN_CACHE"] = before
