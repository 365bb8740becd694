"""``stepgen deploy``: a program on a board, compared like a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import NAME, Output

if TYPE_CHECKING:
    from stepgen.board.device import Report

MOST_FAULTS = 10


@grouped
@click.option(
    "--board",
    required=True,
    type=NAME,
    help="A board that stepgen board lists; virtual:BOARD is simulated and needs no hardware.",
)
@click.option("--port", metavar="PORT", help="Serial port of the board, if several may be it.")
@click.option("--runs", type=click.IntRange(1), default=1, help="Run so often, one after another.")
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(".npz"),
    metavar="FILE.npz",
    help="Write what the run gave.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    *,
    board: str,
    port: str | None,
    runs: int,
    output: Path | None,
    json: bool,
) -> int:
    """Run on a board; compare values, memory, cycles and counters."""
    from stepgen.board.device import Device
    from stepgen.ir.errors import StepError
    from stepgen.program import inputs
    from stepgen.report import console
    from stepgen.tools import waiting

    loaded = program.load()
    if (why := program.outdated(loaded)) is not None:
        raise StepError(why)
    design = hardware.experiment(loaded).design
    with (
        waiting.progress(quiet=json) as progress,
        Device(
            board, loaded.graph, built=design, port=port, seed=program.seed, progress=progress
        ) as device,
    ):
        reports = [device.test(loaded.inputs, progress=progress) for _ in range(runs)]
        repeated = device.link.traffic.repeated
        if output is not None:
            inputs.save(output, device.streams(reports[-1]), device.tensors(reports[-1]))
    worst = next((report for report in reports if not report.good), reports[-1])
    data = document(worst, board, runs, repeated)
    if json:
        console.show_json(data)
    else:
        _show(data)
    return 0 if data["good"] else 1


def document(report: Report, board: str, runs: int, repeated: int) -> dict[str, Any]:
    """A run on a board, for ``--json``."""
    outcome, experiment = report.outcome, report.experiment
    predicted = experiment.prediction.cycles if report.exact else None
    read, written = experiment.traffic if report.exact else (0, 0)
    seconds = outcome.cycles / report.hz
    compared = report.outcome.case.compared(predicted=report.exact)
    compared.pop("cycles", None)  # of single beats, which nothing on a board records
    return {
        "good": report.good,
        "faults": outcome.faults,
        "board": board,
        "runs": runs,
        "cycles": {"predicted": predicted, "board": outcome.cycles},
        "hz": report.hz,
        "seconds": seconds,
        "bytes_per_second": (read + written) / seconds if seconds else 0.0,
        "compared": compared,
        "repeated": repeated,
    }


def _show(data: dict[str, Any]) -> None:
    from stepgen.report import console

    cycles, mhz = data["cycles"], data["hz"] / 1e6
    predicted = cycles["predicted"]
    beside = (
        f"{predicted:,} predicted"
        if predicted is not None
        else "not compared: the beats of a port do not all fit its buffer"
    )
    lines = [
        ("cycles", f"{cycles['board']:,} on the board, {beside}"),
        ("at", f"{mhz:g} MHz: {1e6 * data['seconds']:,.1f} us"),
        ("memory", f"{data['bytes_per_second'] / 1e6:,.1f} MB/s"),
        *((f"{what} compared", f"{count:,}") for what, count in data["compared"].items()),
        ("runs", f"{data['runs']:,}"),
        ("requests repeated", f"{data['repeated']:,}"),
    ]
    console.show(console.files_table(dict(lines)))
    console.show(console.verdict(data["good"]))
    for fault in data["faults"][:MOST_FAULTS]:
        console.show(f"  {fault}")
