"""(b) The cycle model against Verilator, on the same run, without build time; and many runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import stepgen as sg
from benchmarks.programs import moe
from benchmarks.table import Table
from stepgen.cosim.building import FAST_RUN
from stepgen.cosim.experiment import Experiment
from stepgen.timing.design_layout import Run
from stepgen.timing.model import CycleModel
from stepgen.timing.stepping import using

REPEATS = 5
OF_MODEL = 25
"""Runs of the model, which take milliseconds."""
RUNS = 200
LATENCIES = 10
"""The least latency of the runs."""


def measure() -> list[Table]:
    """Both tilings, 64 tokens, 8 experts."""
    return [_against_verilator(), _many_runs()]


def _against_verilator() -> Table:
    rows = []
    for tiling in ("static", "dynamic"):
        experiment = Experiment(*moe(tiling=tiling))
        model, run = CycleModel(experiment.design), experiment.run_of(experiment.known)
        with using("compiled"):
            alone = _seconds(partial(model.totals, run))
            named = _seconds(partial(_all_cycles, model, run))
        with tempfile.TemporaryDirectory() as folder:
            cpp = [_simulated(experiment, Path(folder), "cpp") for _ in range(REPEATS)]
            cocotb = [_simulated(experiment, Path(folder), "cocotb") for _ in range(2)]
        cycles = experiment.prediction.cycles
        took = (alone, named, median(cpp), median(cocotb))
        rows.append(
            (
                tiling,
                f"{cycles:,}",
                *(f"{cycles / seconds / 1e3:,.0f}" for seconds in took),
                f"{median(cpp) / alone:.1f}",
                f"{median(cpp) / named:.1f}",
                f"{median(cocotb) / named:.1f}",
            )
        )
    return Table(
        "b. Cycle model against Verilator",
        "MoE layer, 64 tokens, top 2 of 8 experts, 4 lanes; thousands of cycles per second, median "
        f"of {OF_MODEL} runs of the model and of {REPEATS} simulations (cocotb: 2), of a circuit "
        "that is laid out, or built. The first column is the model where only the number of cycles "
        "is asked for; the other three name the cycle "
        "of every beat on every channel.",
        (
            "tiling",
            "cycles",
            "number of cycles kc/s",
            "model kc/s",
            "Verilator, C++ kc/s",
            "Verilator, cocotb kc/s",
            "number of cycles / C++",
            "model / C++",
            "model / cocotb",
        ),
        rows,
    )


def _all_cycles(model: CycleModel, run: Run) -> None:
    """The cycle of every beat on every channel."""
    prediction = model.predict(run)
    assert prediction.pushes
    assert prediction.pops


def _seconds(run: Callable[[], object]) -> float:
    """The median of some runs, after one that compiles and lays out."""
    run()
    spent = []
    for _ in range(OF_MODEL):
        start = perf_counter()
        run()
        spent.append(perf_counter() - start)
    return median(spent)


def _simulated(experiment: Experiment, folder: Path, driver: str) -> float:
    verdict = experiment.test(folder / driver, driver=driver, opt=FAST_RUN)
    if not verdict.good:
        raise SystemExit(f"the simulation differs: {verdict.outcome.faults[0]}")
    return verdict.outcome.seconds


def _many_runs() -> Table:
    """Runs a second of ``sg.time_scenarios``, in one process and in two."""
    rows = []
    for tiling in ("static", "dynamic"):
        graph, inputs = moe(tiling=tiling)
        scenarios = {"latency": LATENCIES + np.arange(RUNS) % 40}
        seconds = []
        sg.time_scenarios(graph, inputs=inputs, scenarios=scenarios)  # compiles
        for jobs in (1, 2):
            start = perf_counter()
            found = sg.time_scenarios(graph, inputs=inputs, scenarios=scenarios, jobs=jobs)
            seconds.append(perf_counter() - start)
        least, most = int(found.cycles.min()), int(found.cycles.max())
        cycles = f"{least:,} to {most:,}"
        rows.append((tiling, RUNS, cycles, *(f"{RUNS / spent:.0f}" for spent in seconds)))
    return Table(
        "b2. Many runs of one circuit",
        f"The same layers, each on memories with latencies from {LATENCIES} cycles on, by "
        "`sg.time_scenarios`: runs a second, lowering and the start of processes included.",
        ("tiling", "runs", "cycles", "runs / s, 1 job", "runs / s, 2 jobs"),
        rows,
    )
