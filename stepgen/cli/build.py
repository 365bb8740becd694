"""``stepgen build``: the bitstream of a program for a board, or the project that makes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepgen.cli.board_options import BoardOptions
from stepgen.cli.config import show_json
from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import Output
from stepgen.cli.placed import report_option, write_page
from stepgen.ir.errors import StepError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stepgen.board.build import Bitstream
    from stepgen.board.project import Project


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    metavar="DIR",
    help="Folder for the results; by default build, or the design folder that PROGRAM is.",
)
@report_option
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    where: BoardOptions,
    *,
    output: Path | None,
    report: Path | None,
    json: bool,
) -> None:
    """Write a design folder, and in it bitstream, constraints and reports for a board.

    For a board whose bitstreams only Vivado makes, its project.
    """
    from stepgen.board import project
    from stepgen.board.build import build, check_clock
    from stepgen.board.output_folder import check_place, saving
    from stepgen.board.summary import document
    from stepgen.emit.design_writer import write
    from stepgen.report import console
    from stepgen.tools import waiting
    from stepgen.tools.atomic import check_folder

    loaded = program.load(draw=False)
    board, auto = where.board()
    if report is not None and board.vivado:
        raise StepError(f"--report can't be given for {where.name}: Vivado reports what is used")
    with waiting.progress(quiet=json) as progress:
        design = hardware.circuit().fitting(loaded, board, progress=progress)
    earlier = [] if loaded.design is None else [Path(program.program)]
    folder = output or (earlier or [Path("build")])[0]
    check_folder(folder)
    check_place(folder, board)
    places = [place / board.key for place in (folder, *earlier)]
    made: Project | Bitstream
    with waiting.progress(quiet=json) as progress:
        if board.vivado:
            made = project.write(design, board, earlier=places, progress=progress)
            report_data, file = project.document(made), project.BUILD
        else:
            made = build(
                design, board, auto=auto, seeds=where.seeds, earlier=places, progress=progress
            )
            check_clock(design, made)
            report_data, file = document(made, design), made.file
        change = output is not None or not earlier
        with saving(made, folder) as place:
            written = write(folder, loaded, design, earlier=earlier, change=change)
    what = "script for Vivado" if board.vivado else "bitstream"
    files = {what: str(folder / name) for what, name in written.files.items()}
    files |= {"board": str(place), what: str(place / file)}
    if report is not None:
        write_page(report, loaded, design, report_data, quiet=json)
        files["report"] = str(report)
    if json:
        show_json({**report_data, "files": files, "hash": written.hash})
        return
    console.show(console.pairs_table({**files, "hash": written.hash}))
    console.show(*lines(made, place))


def lines(made: Project | Bitstream, place: Path) -> Iterator[str]:
    """What there is to say of what was made, for people."""
    from stepgen.board import project

    clock = f"clock: {made.board.hz / 1e6:g} MHz"
    if isinstance(made, project.Project):
        yield f"{clock}; Vivado reports whether it is met"
        yield f"it makes the bitstream by: {project.command(place / project.BUILD)}"
        return
    yield f"{clock}, at most {made.placed.hz / 1e6:.1f}"
    if made.there:
        yield "the bitstream of this hash was there already and is not built again"
