"""The numbers of ``stepgen demo``, as the models have them; the demo holds them against the RTL."""

from __future__ import annotations

from stepgen.cosim.experiment import Experiment
from stepgen.hw.units.matmul.params import Matmul
from stepgen.pages.docstrings import table
from stepgen.program import program
from stepgen.program.demo import RUNS
from stepgen.report import summary
from stepgen.report.console import percent


def numbers() -> str:
    """Both tilings side by side, and the settings that they have in common."""
    runs = [program.load("moe", settings) for settings in RUNS.values()]
    experiments = [Experiment(run.graph, run.inputs) for run in runs]
    predictions = [e.prediction for e in experiments]
    first = experiments[0]
    matrices = sum(1 for _ in first.design.of_kind(Matmul))
    traffic = map(summary.symbolic_traffic, runs, experiments)
    bits = [summary.memory_bits(e)[0] for e in experiments]
    rows = [
        ("cycles, predicted and in the RTL", *(f"{p.cycles:,}" for p in predictions)),
        (
            "off-chip bytes, by formula and on the bus of the RTL",
            *(f"{moved:,}" for moved in traffic),
        ),
        (
            "on-chip bits, from the design table and allocated by the circuit",
            *(f"{held:,}" for held in bits),
        ),
        (
            f"occupancy of the {matrices} matrix units",
            *(percent(summary.occupancy(p) or 0) for p in predictions),
        ),
    ]
    heads = (
        f"lanes {first.lanes}, a {first.bus.data_bits} bit memory port, "
        f"{first.memory.read_latency} cycles of latency",
        *(f"{tiling} tiles" for tiling in RUNS),
    )
    return "\n".join(table(heads, rows))
