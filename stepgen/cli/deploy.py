"""``stepgen deploy``: a program on a board, compared like a simulation."""

from __future__ import annotations

import platform
from contextlib import ExitStack
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stepgen.cli.board_options import BoardOptions
from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import Output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from stepgen.board.description import Board
    from stepgen.board.device import Report
    from stepgen.board.link import Traffic

MOST_FAULTS = 10
MOST_RUNS = 10_000


@grouped
@click.option("--port", metavar="PORT", help="Serial port of the board, if several may be it.")
@click.option(
    "--preload",
    is_flag=True,
    help="Write tensors past the link of a simulated board that has an SDRAM.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    default=1,
    help="Run so often, one after another.",
)
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(".npz"),
    metavar="FILE.npz",
    help="Write what the run gave.",
)
@click.option(
    "--report",
    "told",
    type=Output(".json"),
    metavar="FILE.json",
    help="Write all that was found out, with versions, to send to the authors.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    where: BoardOptions,
    *,
    port: str | None,
    preload: bool,
    runs: int,
    output: Path | None,
    told: Path | None,
    json: bool,
) -> int:
    """Run on a board; compare values, memory, cycles and counters.

    virtual:BOARD is simulated and needs no hardware.
    """
    from stepgen.board import programming
    from stepgen.board.build import build, check_clock
    from stepgen.board.device import VIRTUAL, Device, check_port, check_preload
    from stepgen.board.project import check_open
    from stepgen.ir.errors import StepError
    from stepgen.program import inputs
    from stepgen.report import console
    from stepgen.tools import external, waiting
    from stepgen.tools.atomic import atomic_file

    board, auto = where.board(simulated=True)
    simulated = where.name.startswith(VIRTUAL)
    check_port(where.name, port)
    if preload:
        check_preload(board, simulated=simulated)
    if not simulated:
        check_open(board, program.program)
    loaded = program.load()
    if (why := program.outdated(loaded)) is not None:
        raise StepError(why)
    design = hardware.experiment(loaded).design if simulated else hardware.fitting(loaded, board)
    if not simulated:
        external.find(programming.LOADER)  # before the minutes of place and route
    with ExitStack() as opened:
        progress = opened.enter_context(waiting.progress(quiet=json))
        target: str | Board = where.name
        if not simulated:
            earlier = where.earlier(program.program)
            made = build(design, board, auto=auto, earlier=earlier, progress=progress)
            check_clock(design, made)
            progress("programming the board", 0.0)
            programming.load(made.board, made.folder / made.file)
            target = made.board
        device = opened.enter_context(
            Device(
                target,
                loaded.graph,
                built=design,
                port=port,
                seed=program.seed,
                preload=preload,
                progress=progress,
            )
        )
        reports = [device.test(loaded.inputs, progress=progress) for _ in range(runs)]
        traffic = device.link.traffic
    worst = next((report for report in reports if not report.good), reports[-1])
    data = document(worst, where.name, runs, traffic.repeated, preloaded=preload)
    if told is not None:
        with atomic_file(told) as place:
            place.write_text(dumps(full(worst, data, traffic), indent=1) + "\n", encoding="utf-8")
    if output is not None:  # behind the report, for a run that did not end has given nothing
        inputs.save(output, device.streams(reports[-1]), device.tensors(reports[-1]))
    if json:
        console.show_json(data)
    else:
        console.show(*lines(data))
    return 0 if data["good"] else 1


def document(
    report: Report, board: str, runs: int, repeated: int, *, preloaded: bool = False
) -> dict[str, Any]:
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
        "preloaded": preloaded,
    }


def full(report: Report, data: dict[str, Any], traffic: Traffic) -> dict[str, Any]:
    """A run on a board with all that helps to understand it, for ``--report``.

    Parameters
    ----------
    report : Report
    data : dict
        From `document`.
    traffic : Traffic
        What went over the link.
    """
    from stepgen.ir.versions import version
    from stepgen.tools import external

    outcome, design = report.outcome, report.experiment.design
    return {
        **data,
        "stepgen": version(),
        "physical": not data["board"].startswith("virtual:"),
        "design": {"name": design.name, "hash": design.hash, "lanes": design.lanes},
        "status": outcome.status,
        "registers": {f"{offset:#x}": word for offset, word in outcome.registers.items()},
        "link": asdict(traffic),
        "tools": external.versions(),
        "host": {"system": platform.platform(), "python": platform.python_version()},
    }


def lines(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What `document` says, for people."""
    from stepgen.report import console

    cycles, mhz = data["cycles"], data["hz"] / 1e6
    predicted = cycles["predicted"]
    beside = (
        f"{predicted:,} predicted"
        if predicted is not None
        else "not compared: the beats of a port do not all fit its buffer"
    )
    facts = [
        ("cycles", f"{cycles['board']:,} on the board, {beside}"),
        ("at", f"{mhz:g} MHz: {1e6 * data['seconds']:,.1f} us"),
        ("memory", f"{data['bytes_per_second'] / 1e6:,.1f} MB/s"),
        *((f"{what} compared", f"{count:,}") for what, count in data["compared"].items()),
        ("tensors", "written past the link" if data["preloaded"] else "written over the link"),
        ("runs", f"{data['runs']:,}"),
        ("requests repeated", f"{data['repeated']:,}"),
    ]
    yield console.files_table(dict(facts))
    yield console.verdict(data["good"])
    for fault in data["faults"][:MOST_FAULTS]:
        yield f"  {fault}"
