"""``stepgen build``: the bitstream of a program for a board."""

from __future__ import annotations

from pathlib import Path

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import BoardOptions, HardwareOptions, ProgramOptions, json_option
from stepgen.cli.outputs import Output


@grouped
@click.option(
    "-o",
    "--out",
    "output",
    type=Output(),
    metavar="DIR",
    help="Folder for the results; by default build, or the design folder that PROGRAM is.",
)
@json_option
def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    where: BoardOptions,
    *,
    output: Path | None,
    json: bool,
) -> None:
    """Write a design folder, and in it bitstream, constraints and reports for a board."""
    from stepgen.board.build import build, check_clock, check_place, save
    from stepgen.board.summary import document
    from stepgen.emit.design_writer import write
    from stepgen.report import console
    from stepgen.tools import waiting
    from stepgen.tools.atomic import check_folder

    loaded = program.load(draw=False)
    design = hardware.experiment(loaded).design
    board, auto = where.board()
    earlier = [] if loaded.design is None else [Path(program.program)]
    folder = output or (earlier or [Path("build")])[0]
    check_folder(folder)
    check_place(folder, board)
    with waiting.progress(quiet=json) as progress:
        made = build(
            design,
            board,
            auto=auto,
            earlier=[place / board.key for place in (folder, *earlier)],
            progress=progress,
        )
        check_clock(design, made)
        written = write(
            folder, loaded, design, earlier=earlier, change=output is not None or not earlier
        )
        place = save(made, folder)
    files = {what: str(folder / name) for what, name in written.files.items()}
    files |= {"board": str(place), "bitstream": str(place / made.file)}
    if json:
        console.show_json({**document(made, design), "files": files, "hash": written.hash})
        return
    console.show(console.files_table({**files, "hash": written.hash}))
    clock = f"{made.board.hz / 1e6:g} MHz, at most {made.placed.hz / 1e6:.1f}"
    console.show(f"clock: {clock}")
    if made.there:
        console.show("the bitstream of this hash was there already and is not built again")
