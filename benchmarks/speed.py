"""(b) The cycle model against Verilator, on the same run, without build time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from stepgen.cosim.building import FAST_RUN
from stepgen.cosim.experiment import Experiment
from stepgen.timing.model import predict

from .programs import moe
from .table import Table

REPEATS = 5


def measure() -> Table:
    """Both tilings, 64 tokens, 8 experts."""
    rows = []
    for tiling in ("static", "dynamic"):
        experiment = Experiment(*moe(tiling=tiling))
        predict(experiment.design, experiment.beats)  # compiles
        model = median(_model_seconds(experiment) for _ in range(REPEATS))
        with tempfile.TemporaryDirectory() as folder:
            cpp = [_simulated(experiment, Path(folder), "cpp") for _ in range(REPEATS)]
            cocotb = [_simulated(experiment, Path(folder), "cocotb") for _ in range(2)]
        cycles = experiment.prediction.cycles
        rows.append(
            (
                tiling,
                f"{cycles:,}",
                f"{cycles / model / 1e3:,.0f}",
                f"{cycles / median(cpp) / 1e3:,.0f}",
                f"{cycles / median(cocotb) / 1e3:,.0f}",
                f"{median(cpp) / model:.1f}",
                f"{median(cocotb) / model:.1f}",
            )
        )
    return Table(
        "b. Cycle model against Verilator",
        "MoE layer, 64 tokens, top 2 of 8 experts, 4 lanes; thousands of cycles per second, median "
        f"of {REPEATS} runs (cocotb: 2). All three name the cycle of every beat on every channel.",
        (
            "tiling",
            "cycles",
            "model kc/s",
            "Verilator, C++ kc/s",
            "Verilator, cocotb kc/s",
            "model / C++",
            "model / cocotb",
        ),
        rows,
    )


def _model_seconds(experiment: Experiment) -> float:
    start = perf_counter()
    predict(experiment.design, experiment.beats)
    return perf_counter() - start


def _simulated(experiment: Experiment, folder: Path, driver: str) -> float:
    verdict = experiment.test(folder / driver, driver=driver, opt=FAST_RUN)
    if not verdict.good:
        raise SystemExit(f"the simulation differs: {verdict.outcome.faults[0]}")
    return verdict.outcome.seconds
