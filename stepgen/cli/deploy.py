"""``stepgen deploy``: a program on a board, compared like a simulation."""

from __future__ import annotations

import platform
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from stepgen.cli import models
from stepgen.cli import resident as staying
from stepgen.cli.board_options import BoardOptions
from stepgen.cli.config import show_json
from stepgen.cli.groups import check_unused, given_options, grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import INPUT, NAME, Output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from stepgen.board.description import Board
    from stepgen.board.device import Device
    from stepgen.board.link import Traffic
    from stepgen.board.report import Report
    from stepgen.hw.design.table import Design

MOST_FAULTS = 10
MOST_RUNS = 10_000
STAYING = ("ids", "more", "check")
"""Parameters for tensors that stay on a board."""

UNTESTED = ("name", "past_link", "runs", "output", "resident", *STAYING)
"""Parameters that a test of a board does not take, beside those of groups."""


@grouped
@click.option(
    "--selftest",
    type=NAME,
    is_eager=True,
    metavar="BOARD",
    help="Test a board by a design of its own, in place of running a program: link, memory, clock, "
    "and a run whose result is known.",
)
@click.option("--port", metavar="PORT", help="Serial port of the board, if several may be it.")
@click.option(
    "--past-link/--over-link",
    default=None,
    help="Move all tensors of a simulated board with an SDRAM past its link, or none; by default "
    "large ones go past it.",
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
    "report_file",
    type=Output(".html", ".json"),
    metavar="FILE.html|FILE.json",
    help="Write all that was found out, with versions: a page, or as .json to send to the authors; "
    "--selftest always does, by default to build/selftest.",
)
@click.option(
    "--resident",
    is_flag=True,
    help="Write the tensors of a model once, then run its tokens one by one: give them by --ids.",
)
@click.option(
    "--ids",
    type=INPUT,
    metavar="FILE",
    help="Tokens of a model (npz, npy, csv), for --resident.",
)
@models.more_option
@click.option(
    "--check",
    type=click.Choice(["all", "first", "none"]),
    default="all",
    show_default=True,
    help="Which tokens of --resident are compared with reference and prediction.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    where: BoardOptions,
    *,
    selftest: str | None,
    port: str | None,
    past_link: bool | None,
    runs: int,
    output: Path | None,
    report_file: Path | None,
    resident: bool,
    ids: Path | None,
    more: int,
    check: Literal["all", "first", "none"],
    json: bool,
) -> int:
    """Run on a board; compare values, memory, cycles and counters.

    virtual:BOARD is simulated and needs no hardware.
    """
    from stepgen.board import programming
    from stepgen.board.build import build, check_clock
    from stepgen.board.device import VIRTUAL, Device, check_past, check_port
    from stepgen.board.project import check_open
    from stepgen.ir.errors import StepError
    from stepgen.program import inputs
    from stepgen.report import console
    from stepgen.tools import external, waiting

    if selftest is not None:
        check_unused(
            "can't be given with --selftest, which brings a program of its own",
            ProgramOptions,
            HardwareOptions,
            *UNTESTED,
        )
        return _self_test(replace(where, name=selftest), port, report_file, json=json)
    if resident:
        check_unused("can't be given with --resident: --ids says how many runs there are", "runs")
    else:
        check_unused("is for tokens on tensors that stay: add --resident", *STAYING)
    text = models.text_of(ids, more)
    if resident and text is None:
        raise StepError("--resident runs tokens of a model: give them by --ids")
    board, auto = where.board(simulated=True)
    simulated = where.name.startswith(VIRTUAL)
    check_port(where.name, port)
    if past_link:
        check_past(board, simulated=simulated)
    if not simulated:
        check_open(board, program.program)
    decoder, loaded = (None, program.load()) if text is None else staying.load(program, hardware)
    tokens = None if decoder is None or text is None else text.tokens(program, decoder)
    if (why := program.outdated(loaded)) is not None:
        raise StepError(why)
    circuit = hardware.circuit()
    if simulated:
        design = circuit.experiment(loaded).design
    else:
        with waiting.progress(quiet=json) as progress:
            design = circuit.fitting(loaded, board, progress=progress)
        external.find(programming.LOADER)  # before the minutes of place and route
    with ExitStack() as opened:
        progress = opened.enter_context(waiting.progress(quiet=json))
        target: str | Board = where.name
        device: Device | None = None

        def opening() -> Device:
            return opened.enter_context(
                Device(
                    target,
                    loaded.graph,
                    built=design,
                    counters=circuit.counters,
                    port=port,
                    seed=program.seed,
                    past_link=past_link,
                    progress=progress,
                )
            )

        if not simulated:
            earlier = where.earlier(program.program)
            made = build(
                design, board, auto=auto, seeds=where.seeds, earlier=earlier, progress=progress
            )
            check_clock(design, made)
            target = board = made.board
            if text is not None:  # a board that holds the design may hold its tensors, too
                with suppress(StepError):
                    device = opening()
            if device is None:
                progress("programming the board", 0.0)
                programming.load(made.board, made.folder / made.file)
        try:
            device = device or opening()
            if text is not None:
                assert decoder is not None
                assert tokens is not None
                stays = staying.Resident()
                stays.run(device, decoder, tokens, check, progress)
                data = stays.document(device, where.name, text)
                there = about(board, design, physical=not simulated)
                return _stayed(stays, design, data, there, output, report_file, json=json)
            reports = [device.test(loaded.inputs, progress=progress) for _ in range(runs)]
        except StepError as error:
            if report_file is not None:
                failed = {"good": False, "faults": [str(error)], "board": where.name}
                _write(report_file, design, failed | about(board, design, physical=not simulated))
            raise
        traffic = device.link.traffic
    number = next((k for k, report in enumerate(reports) if not report.good), runs - 1)
    worst = reports[number]
    data = document(worst, where.name, runs, traffic.repeated, past=device.session.moved_past)
    if report_file is not None:
        there = about(board, design, physical=not simulated)
        _write(report_file, design, data | {"run": number} | there | seen(worst, traffic))
    if output is not None:  # behind the report, for a run that did not end has given nothing
        inputs.save(output, device.streams(worst), device.tensors(worst))
    if json:
        show_json(data)
    else:
        console.show(*lines(data))
    return 0 if data["good"] else 1


def _stayed(
    tokens: staying.Resident,
    design: Design,
    data: dict[str, Any],
    there: dict[str, Any],
    output: Path | None,
    report_file: Path | None,
    *,
    json: bool,
) -> int:
    """Tell of tokens on tensors that stayed on a board."""
    import numpy as np

    from stepgen.report import console
    from stepgen.tools.atomic import atomic_file

    if report_file is not None:
        _write(report_file, design, data | there)
    if output is not None:
        with atomic_file(output) as partial:
            np.savez(partial, **tokens.outputs())
    if json:
        show_json(data)
    else:
        console.show(*staying.lines(data))
    return 0


def _self_test(
    where: BoardOptions, port: str | None, report_file: Path | None, *, json: bool
) -> int:
    """Test a board."""
    from stepgen.board.device import VIRTUAL, check_port
    from stepgen.cli import self_test
    from stepgen.report import console

    check_port(where.name, port)
    place = report_file or self_test.report_of(where.name)
    data, design = self_test.run(where, port, quiet=json)
    there = about(
        where.board(simulated=True)[0], design, physical=not where.name.startswith(VIRTUAL)
    )
    _write(place, design, data | there)
    if json:
        show_json(data | {"report": str(place)})
    else:
        console.show(*self_test.lines(data, place))
    return 0 if data["good"] else 1


def document(
    report: Report, board: str, runs: int, repeated: int, *, past: int = 0
) -> dict[str, Any]:
    """A run on a board, for ``--json``."""
    outcome, experiment = report.outcome, report.experiment
    predicted = experiment.prediction.cycles if report.exact else None
    seconds = outcome.cycles / report.hz
    rate = None
    if outcome.status == "done" and report.exact and seconds:
        rate = sum(experiment.traffic) / seconds
    return {
        "good": report.good,
        "faults": outcome.faults,
        "board": board,
        "runs": runs,
        "cycles": {"predicted": predicted, "board": outcome.cycles},
        "hz": report.hz,
        "seconds": seconds,
        "bytes_per_second": rate,
        "compared": report.compared,
        "repeated": repeated,
        "past_link": past,
    }


def about(board: Board, design: Design, *, physical: bool) -> dict[str, Any]:
    """What was to run where, for ``--report``: enough to repeat it.

    Parameters
    ----------
    board : Board
    design : Design
    physical : bool
        Whether the board is a real one.
    """
    from stepgen.ir.versions import version
    from stepgen.tools import external

    options = click.get_current_context().params
    return {
        "stepgen": version(),
        "options": {name: _plain(value) for name, value in options.items() if value is not None},
        "physical": physical,
        "design": {"name": design.name, "hash": design.hash, "lanes": design.lanes},
        "description": asdict(board),
        "tools": external.versions(),
        "host": {"system": platform.platform(), "python": platform.python_version()},
    }


def seen(report: Report, traffic: Traffic) -> dict[str, Any]:
    """What was found out about a run beside `document`, for ``--report``.

    Parameters
    ----------
    report : Report
    traffic : Traffic
        What went over the link.
    """
    from stepgen.hw.design.registers import REGISTERS

    names = {offset: register.name for register in REGISTERS for offset in register.offsets}
    return {
        "status": report.outcome.status,
        "registers": {
            f"{offset:#x} {names.get(offset, '')}".rstrip(): word
            for offset, word in report.outcome.registers.items()
        },
        "link": asdict(traffic),
    }


def _plain(value: Any) -> Any:
    """An option's value in JSON."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value if isinstance(value, bool | int | float | str) else str(value)


def _write(place: Path, design: Design, data: Mapping[str, Any]) -> None:
    """Write all that was found out: a page, or JSON, by the name of the file."""
    from stepgen.report.deployed import deployed_page
    from stepgen.tools.atomic import atomic_file

    if place.suffix == ".html":
        text = deployed_page(design, data, given_options())
    else:
        text = dumps(data, indent=1) + "\n"
    with atomic_file(place) as partial:
        partial.write_text(text, encoding="utf-8")


def way_past(data: Mapping[str, Any]) -> str:
    """What is said of tensors that were not sent over the link."""
    return f"{data['past_link']:,} bytes moved past the link, which a real board can't"


def lines(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What `document` says, for people."""
    from stepgen.board.device import VIRTUAL
    from stepgen.report import console

    simulated = data["board"].startswith(VIRTUAL)
    cycles, mhz, rate = data["cycles"], data["hz"] / 1e6, data["bytes_per_second"]
    predicted = cycles["predicted"]
    beside = (
        f"{predicted:,} predicted"
        if predicted is not None
        else "not compared: the beats of a port do not all fit its buffer"
    )
    facts = [
        ("cycles", f"{cycles['board']:,} on the board, {beside}"),
        ("at", f"{mhz:g} MHz: {1e6 * data['seconds']:,.1f} us"),
        ("memory", "unknown" if rate is None else f"{rate / 1e6:,.1f} MB/s"),
        *((f"{what} compared", f"{count:,}") for what, count in data["compared"].items()),
        ("tensors", "moved over the link" if not data["past_link"] else way_past(data)),
        *([("room on the real board", "not checked here; run stepgen board")] if simulated else []),
        ("runs", f"{data['runs']:,}"),
        ("requests repeated", f"{data['repeated']:,}"),
    ]
    yield console.pairs_table(dict(facts))
    yield console.verdict(data["good"])
    for fault in data["faults"][:MOST_FAULTS]:
        yield f"  {fault}"
