"""``stepgen verilog``: generates the circuit of a program as Verilog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stepgen.cli.options import HardwareOptions, Json, ProgramOptions
from stepgen.cli.outputs import Output


def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="DIR", help="Folder for the results."),
        Output(),
    ] = Path("build"),
    json: Json = False,
) -> None:
    """Write Verilog, linter waivers, a C header of the registers, and the design table as JSON."""
    from stepgen.flow import report, waiting
    from stepgen.flow.elaborate import verilog as generate
    from stepgen.flow.lint import control_file
    from stepgen.flow.registers import c_header
    from stepgen.flow.whole import whole_folder
    from stepgen.hw.names import verilog_name

    loaded = program.load(draw=False)
    design = hardware.experiment(loaded).design
    with whole_folder(output) as place, waiting.progress(quiet=json) as progress:
        progress("writing Verilog", 0.0)
        text = generate(design)
        (place / f"{design.name}.v").write_text(text)
        (place / f"{design.name}.vlt").write_text(control_file(text, f"{design.name}.v"))
        (place / f"{design.name}.json").write_text(design.to_json() + "\n")
        (place / f"{design.name}_registers.h").write_text(
            c_header(
                verilog_name(design.name),
                channels=[channel.name for channel in design.channels],
                units=[unit.name for unit in design.units],
            )
        )
    files = {
        "verilog": str(output / f"{design.name}.v"),
        "lint waivers": str(output / f"{design.name}.vlt"),
        "design": str(output / f"{design.name}.json"),
        "registers": str(output / f"{design.name}_registers.h"),
    }
    if json:
        report.show_json(files)
    else:
        report.show(report.files_table(files))
