"""``stepgen show``: the graph of a program, or its design table."""

from __future__ import annotations

from typing import Annotated

import typer

from stepgen.cli.options import HardwareOptions, Json, ProgramOptions


def command(
    program: ProgramOptions,
    hardware: HardwareOptions,
    *,
    design: Annotated[
        bool, typer.Option("--design", help="Show units and channels of the circuit.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a program's operators with their types, or the circuit's units and channels."""
    loaded = program.load(draw=False)
    if design:
        table = hardware.experiment(loaded).design
        if json:
            print(table.to_json())
            return
        from stepgen.report import console

        console.show(*console.design_tables(table))
    elif json:
        from stepgen.ir.text import dumps

        print(dumps(loaded.graph))
    else:
        print(loaded.graph)
