"""(d2) Resources and maximum clock of single arithmetic operations on an ECP5-85."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.table import Table
from stepgen.hw.arithmetic.circuits.lane import Lane
from stepgen.hw.arithmetic.operations import Operation
from stepgen.hw.arithmetic.pipeline import Pipeline
from stepgen.synth.out_of_context import netlist, place

SPEED = 6
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Case:
    """An operation of one lane.

    Parameters
    ----------
    name : str
        As the table calls it.
    pipeline : Pipeline
    goal : str
        What it is to take and to reach.
    """

    name: str
    pipeline: Pipeline
    goal: str


def _one(name: str, inputs: tuple[str, ...], element: str) -> Pipeline:
    return Pipeline(inputs, (Operation(name, tuple(range(len(inputs))), element),))


CASES = (
    Case("f32 add", _one("add", ("f32", "f32"), "f32"), "450 LUT, 165 MHz"),
    Case("bf16 add", _one("add", ("bf16", "bf16"), "bf16"), "150 MHz"),
    Case("bf16 x bf16 to bf16", _one("multiply", ("bf16", "bf16"), "bf16"), "150 MHz"),
    Case("f32 x f32", _one("multiply", ("f32", "f32"), "f32"), "220 LUT, 4 DSP"),
    Case("bf16 exp", _one("exp", ("bf16",), "bf16"), "380 LUT, 2 DSP, 170 MHz"),
    Case("f32 exp", _one("exp", ("f32",), "f32"), "1,000 LUT, 11 DSP"),
    Case(
        "requantize by a factor and a shift",
        _one("requantize_by", ("int32", "int32", "int8"), "int8"),
        "185 LUT, 2 DSP",
    ),
)


def measure() -> Table:
    """Synthesize, place and route each."""
    with tempfile.TemporaryDirectory(prefix="stepgen_bench_") as folder:
        rows = [_row(case, Path(folder)) for case in CASES]
    return Table(
        "d2. Arithmetic",
        "One lane of an operation on an LFE5U-85F of speed grade 6, out of context: clock in MHz "
        "as the median of three placements, at most what multipliers and block RAM stand. LUTs "
        "include those of carry chains.",
        ("operation", "stages", "LUT", "FF", "DSP", "RAM", "MHz", "goal"),
        rows,
    )


def _row(case: Case, folder: Path) -> tuple[object, ...]:
    print(f"  {case.name}", flush=True)
    name = "".join(c if c.isalnum() else "_" for c in case.name)
    used = place(netlist(Lane(case.pipeline), name, folder), speed=SPEED, seeds=SEEDS)
    taken = (used.lut, used.ff, used.dsp, used.block_ram)
    return (case.name, case.pipeline.stages, *taken, f"{used.fmax:.0f}", case.goal)
