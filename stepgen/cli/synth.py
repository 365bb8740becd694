"""``stepgen synth``: what a program takes of a board, and how fast its clock may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepgen.cli.board_options import BoardOptions
from stepgen.cli.config import show_json
from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.placed import report_option, write_page

if TYPE_CHECKING:
    from stepgen.board.build import Bitstream

MOST_UNITS = 24
"""Rows of units; what is smaller stands in one row."""


@grouped
@report_option
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    where: BoardOptions,
    *,
    report: Path | None,
    json: bool,
) -> int:
    """Synthesize, place and route for a board: resources, clock, slowest path."""
    from stepgen.board.project import check_open
    from stepgen.commands.synthesize import synthesized
    from stepgen.report import console
    from stepgen.tools import waiting

    board, auto = where.board()
    check_open(board, program.program)
    loaded = program.load(draw=False)
    outdated = program.warn_outdated(loaded, json=json)
    with waiting.progress(quiet=json) as progress:
        design = hardware.circuit().fitting(loaded, board, progress=progress)
        result = synthesized(
            design,
            board,
            auto=auto,
            seeds=where.seeds,
            earlier=where.earlier(program.program),
            progress=progress,
        )
    data = {**result.document(), "outdated": outdated}
    if report is not None:
        write_page(report, loaded, design, data, quiet=json)
    if json:
        show_json({**data, "files": {"report": report}})
    else:
        show(result.made, data)
        if report is not None:
            console.show(f"written to {report}")
    return 0 if result.met else 1


def show(made: Bitstream, data: dict[str, Any]) -> None:
    """Print what `stepgen.board.summary.document` has found."""
    from stepgen.board.summary import total
    from stepgen.report import console
    from stepgen.report.placed import COLUMNS
    from stepgen.synth.toolchain import RESOURCES

    def row(name: str, takes: dict[str, Any]) -> tuple[Any, ...]:
        return (name, *(takes[what] for what in RESOURCES))

    units = sorted(data["units"], key=lambda unit: -unit["lut"])
    rows = [row(f"{unit['unit']} ({unit['kind']})", unit) for unit in units[:MOST_UNITS]]
    if rest := units[MOST_UNITS:]:
        rows.append(row(f"{len(rest)} smaller units", total(rest)))
    rows.append(row(f"{len(data['channels'])} FIFOs", total(data["channels"])))
    rows.append(row("control and counters", data["control"]))
    rows += [row(f"around it: {name}", takes) for name, takes in data["around"].items()]
    used = data["used"]
    rows.append(("placed", *(used[what]["used"] for what in RESOURCES)))
    rows.append(("there are", *(used[what]["available"] for what in RESOURCES)))
    console.show(console.table(f"On {data['board']}", "part of the circuit", *COLUMNS, rows=rows))
    clock = data["clock"]
    verdict = "met" if clock["met"] else "NOT met"
    console.show(
        f"clock: {clock['hz'] / 1e6:g} MHz are {verdict}, at most {clock['fastest_hz'] / 1e6:.1f}",
        f"slowest path: from {made.placed.path}",
    )
    if ends := made.placed.ends:
        console.show(f"slowest paths by where they end: {', '.join(map(str, ends))}")
    if len(clocks := clock["placements_hz"]) > 1:
        mhz = ", ".join(f"{hz / 1e6:.1f}" for hz in clocks)
        console.show(f"{len(clocks)} placements: {mhz} MHz")
