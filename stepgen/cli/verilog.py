"""``stepgen verilog``: generates the circuit of a program as Verilog."""

from __future__ import annotations

from pathlib import Path

import click

from stepgen.cli.groups import grouped
from stepgen.cli.options import HardwareOptions, ProgramOptions, json_option
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
    program: ProgramOptions, hardware: HardwareOptions, *, output: Path | None, json: bool
) -> None:
    """Write Verilog and a C header of its registers to a design folder, a PROGRAM for others."""
    from stepgen.emit.design_writer import write
    from stepgen.report import console
    from stepgen.tools import waiting

    loaded = program.load(draw=False)
    design = hardware.experiment(loaded).design
    earlier = [] if loaded.design is None else [Path(program.program)]
    folder = output or (earlier or [Path("build")])[0]
    with waiting.progress(quiet=json) as progress:
        progress("writing Verilog", 0.0)
        change = output is not None or not earlier
        written = write(folder, loaded, design, earlier=earlier, change=change)
    files = {what: str(folder / name) for what, name in written.files.items()}
    if json:
        console.show_json({**files, "hash": written.hash, "built": written.built})
        return
    console.show(console.files_table({**files, "hash": written.hash}))
    if not written.built:
        console.show("the Verilog of this hash was there already and is not built again")
