"""(a) Seconds from a graph to Verilog, over the number of experts."""

from __future__ import annotations

from time import perf_counter

from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.compile.lower import lower
from stepgen.emit.elaborate import verilog

EXPERTS = (2, 8, 32, 128)


def measure() -> Table:
    """Lower, elaborate and write the MoE layer with dynamic tiles."""
    rows = []
    verilog(lower(moe(experts=2)[0]))  # the first call compiles Yosys
    for experts in EXPERTS:
        graph, _ = moe(experts=experts)
        start = perf_counter()
        design = lower(graph)
        text = verilog(design)
        seconds = perf_counter() - start
        rows.append(
            (
                experts,
                len(design.units),
                len(design.channels),
                f"{len(text) / 1e6:.1f}",
                f"{seconds:.1f}",
                f"{seconds / experts:.2f}",
            )
        )
    return Table(
        "a. Graph to Verilog",
        "MoE layer, dynamic tiles. Linear growth shows as a constant last column.",
        ("experts", "units", "channels", "Verilog MB", "seconds", "seconds per expert"),
        rows,
    )
